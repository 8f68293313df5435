# The rank core. room_rank: everything but what includes Python.h, for tests without Python. inductop_rank: the extension module that is loaded
# into the training process; it brings the few sources of base and wire that it needs along and never carries sanitizers, since
# an ordinary Python could not load it then.
file(GLOB rank_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/engine/rank/*.c ${CMAKE_SOURCE_DIR}/engine/rank/bridge/*.c)
set(rank_module ${CMAKE_SOURCE_DIR}/engine/rank/module.c ${CMAKE_SOURCE_DIR}/engine/rank/timed.c)
list(REMOVE_ITEM rank_sources ${rank_module})

add_library(room_rank STATIC ${rank_sources})
target_link_libraries(room_rank PUBLIC room_wire Threads::Threads ${CMAKE_DL_LIBS})

set(rank_shared ${rank_sources}
    engine/wire/frame.c engine/wire/kinds.c engine/wire/page.c engine/base/attr.c engine/base/clock.c engine/base/err.c
    engine/base/host.c)

find_program(INDUCTOP_PYTHON NAMES python3 python DOC "the Python whose headers the rank core is built with; 3.10 or later")
if(INDUCTOP_PYTHON)
  execute_process(COMMAND ${INDUCTOP_PYTHON} -c "import sysconfig; print(sysconfig.get_paths()['include'])"
                  OUTPUT_VARIABLE rank_include OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(rank_include AND EXISTS ${rank_include}/Python.h)
  add_library(inductop_rank MODULE ${rank_module} ${rank_shared})
  target_include_directories(inductop_rank SYSTEM PRIVATE ${rank_include})
  target_compile_definitions(inductop_rank PRIVATE Py_LIMITED_API=0x030A0000)
  # A symbol that is missing would be seen only when the module is imported.
  target_compile_options(inductop_rank PRIVATE -Werror=implicit-function-declaration)
  target_link_libraries(inductop_rank PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  foreach(options COMPILE_OPTIONS LINK_OPTIONS)
    get_target_property(kept inductop_rank ${options})
    if(kept)
      list(FILTER kept EXCLUDE REGEX "-fsanitize=")
      set_target_properties(inductop_rank PROPERTIES ${options} "${kept}")
    endif()
  endforeach()
  set_target_properties(inductop_rank PROPERTIES
    PREFIX "" OUTPUT_NAME _inductop SUFFIX .abi3.so
    C_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/inductop/agent/inductop_agent)
else()
  message(STATUS "left out: the rank core for Python (Python.h is not installed), so nothing can be seen or switched in a job")
endif()
