# The tapes that are too large to be kept are made here: <build>/tapes/ranks_512.jsonl.
if(Python3_FOUND)
  set(large_tapes ${CMAKE_BINARY_DIR}/tapes/ranks_512.jsonl)
  add_custom_command(
    OUTPUT ${large_tapes}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/tapes/make.py ${CMAKE_BINARY_DIR}/tapes ranks_512
    DEPENDS ${CMAKE_SOURCE_DIR}/tests/tapes/make.py
    COMMENT "making tapes"
    VERBATIM)
  add_custom_target(large_tapes ALL DEPENDS ${large_tapes})
  # The small ones in the tree are what the script makes.
  add_test(NAME check/tapes COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/tapes/make.py --check
    ${CMAKE_SOURCE_DIR}/tests/tapes)
endif()
