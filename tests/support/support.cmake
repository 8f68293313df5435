# front_driver: the front without the rest of the program, for tests/end_to_end/test_front*.py.
add_executable(front_driver tests/support/front_driver.c
  engine/run/keeper.c engine/run/witness.c engine/run/descriptors.c engine/run/say.c engine/run/launch.c)
target_link_libraries(front_driver PRIVATE room_base)
