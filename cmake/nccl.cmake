# The NCCL profiler plugin. Needs no NCCL and no CUDA: the interface is declared in engine/rank/nccl/abi.h. room_nccl: for tests.
# inductop_nccl: what is loaded into the training process. It carries the name inside that NCCL asks the loader for, is never
# unloaded (NCCL would, with its last communicator, and the figures with it), and never carries sanitizers.
file(GLOB nccl_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/engine/rank/nccl/*.c)
add_library(room_nccl STATIC ${nccl_sources})
target_link_libraries(room_nccl PUBLIC room_base Threads::Threads)

add_library(inductop_nccl MODULE ${nccl_sources} engine/base/clock.c)
foreach(options COMPILE_OPTIONS LINK_OPTIONS)
  get_target_property(kept inductop_nccl ${options})
  if(kept)
    list(FILTER kept EXCLUDE REGEX "-fsanitize=")
    set_target_properties(inductop_nccl PROPERTIES ${options} "${kept}")
  endif()
endforeach()
target_link_options(inductop_nccl PRIVATE -Wl,-soname,libnccl-profiler.so -Wl,-z,nodelete -Wl,-z,defs)
set_target_properties(inductop_nccl PROPERTIES
  PREFIX "" OUTPUT_NAME libnccl-profiler-inductop SUFFIX .so
  C_VISIBILITY_PRESET hidden
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/inductop/agent/inductop_agent)
