# front_driver: the front without the rest of the program, for tests/end_to_end/test_front*.py.
add_executable(front_driver tests/support/front_driver.c
  engine/run/shell_signals.c engine/run/ending.c engine/run/job_exec.c
  engine/run/keeper.c engine/run/witness.c engine/run/descriptors.c engine/run/say.c engine/run/launch.c)
target_link_libraries(front_driver PRIVATE room_base)

# pty_driver: a front on a keeper with a pty, and a viewer of the job's terminal, for tests/end_to_end/test_pty*.py.
file(GLOB pty_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/engine/run/pty*.c ${CMAKE_SOURCE_DIR}/engine/run/terminal_*.c)
add_executable(pty_driver tests/support/pty_driver.c ${pty_sources}
  engine/run/shell_signals.c engine/run/ending.c engine/run/job_exec.c
  engine/run/keeper.c engine/run/witness.c engine/run/descriptors.c engine/run/say.c engine/run/launch.c engine/wire/frame.c)
target_link_libraries(pty_driver PRIVATE room_base)

# nccl_play: NCCL's part of the profiler interface, for tests/unit/rank/test_nccl_found.py.
add_library(nccl_play MODULE tests/support/nccl_play.c)
target_link_libraries(nccl_play PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(nccl_play PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

# A bridge to libtorch that needs no torch, for the unit test of its loader.
if(TARGET rank_test_bridge)
  add_library(fake_bridge MODULE ${CMAKE_SOURCE_DIR}/tests/support/fake_bridge.c)
  set_target_properties(fake_bridge PROPERTIES PREFIX "")
  target_compile_definitions(rank_test_bridge PRIVATE FAKE_BRIDGE="$<TARGET_FILE:fake_bridge>")
  add_dependencies(rank_test_bridge fake_bridge)
endif()
