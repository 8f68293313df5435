# Tests that are not plain unit tests of one room.
include(${CMAKE_SOURCE_DIR}/tests/support/support.cmake OPTIONAL)
include(${CMAKE_SOURCE_DIR}/tests/stress/stress.cmake OPTIONAL)
include(${CMAKE_SOURCE_DIR}/tests/bench/bench.cmake OPTIONAL)

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME check/layers COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/check/layers.py)
  add_test(NAME check/map COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/check/map.py)
endif()
include(${CMAKE_SOURCE_DIR}/tests/tapes/tapes.cmake OPTIONAL)
