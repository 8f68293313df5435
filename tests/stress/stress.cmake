# The gate and the agreement under fire. By hand, for long:  build/stress -n 8 10000  (see stress.c), then verify.py on its folder.
set(stress_dir ${CMAKE_SOURCE_DIR}/tests/stress)
set(stress_sources ${stress_dir}/stress.c ${stress_dir}/rank.c ${stress_dir}/engine.c)

add_executable(stress ${stress_sources})
target_link_libraries(stress PRIVATE room_rank room_run)

# The same from its sources, with pauses in the middle of arming a gate, and with rules that can be taken out one by one. Needs no
# test of its own in every run; by hand:  ninja stress_without, then  verify.py --rules build/stress_without -w 8 -t 20 1500
set(stress_core engine/rank/gate.c engine/rank/memory.c engine/rank/outbox.c engine/rank/ring.c engine/rank/sender.c
    engine/rank/phases.c engine/rank/states.c engine/run/agreement.c engine/wire/page.c engine/wire/frame.c engine/base/attr.c engine/base/clock.c
    engine/base/err.c engine/base/mem.c)
add_executable(stress_without EXCLUDE_FROM_ALL ${stress_sources} ${stress_core})
target_compile_definitions(stress_without PRIVATE PAGE_RULES_REMOVABLE)
target_link_libraries(stress_without PRIVATE Threads::Threads)

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME stress/agreement COMMAND ${Python3_EXECUTABLE} ${stress_dir}/verify.py --run $<TARGET_FILE:stress> 500)
  set_tests_properties(stress/agreement PROPERTIES TIMEOUT 180 RUN_SERIAL ON)
endif()

# The thread sanitizer does not bear address space randomisation, hence setarch.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
set(CMAKE_REQUIRED_LINK_OPTIONS -fsanitize=thread)
check_c_source_compiles("int main(void) { return 0; }" INDUCTOP_HAS_TSAN)
unset(CMAKE_REQUIRED_FLAGS)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
find_program(INDUCTOP_SETARCH setarch)
if(INDUCTOP_HAS_TSAN AND INDUCTOP_SETARCH AND NOT INDUCTOP_SANITIZE)
  add_executable(stress_threads ${stress_dir}/threads.c ${stress_core} engine/rank/core.c engine/rank/bridge/loader.c
    engine/rank/collectives.c)
  target_compile_options(stress_threads PRIVATE -fsanitize=thread)
  target_link_options(stress_threads PRIVATE -fsanitize=thread)
  target_link_libraries(stress_threads PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  add_test(NAME stress/threads COMMAND ${INDUCTOP_SETARCH} -R $<TARGET_FILE:stress_threads> 400)
  add_executable(stress_nccl ${stress_dir}/nccl.c ${nccl_sources} engine/base/clock.c)
  target_compile_options(stress_nccl PRIVATE -fsanitize=thread)
  target_link_options(stress_nccl PRIVATE -fsanitize=thread)
  target_link_libraries(stress_nccl PRIVATE Threads::Threads)
  add_test(NAME stress/nccl COMMAND ${INDUCTOP_SETARCH} -R $<TARGET_FILE:stress_nccl> 3)
  set_tests_properties(stress/threads stress/nccl PROPERTIES TIMEOUT 180 ENVIRONMENT "TSAN_OPTIONS=halt_on_error=0 exitcode=66")
else()
  message(STATUS "left out: the thread sanitizer's test of the rank core (no -fsanitize=thread, no setarch, or other sanitizers)")
endif()
