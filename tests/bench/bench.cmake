# Programs that print figures; `make bench` runs them, CI does not judge their numbers.
add_executable(bench_statistics EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tests/bench/statistics.c)
target_link_libraries(bench_statistics PRIVATE room_tune)

add_executable(bench_snapshot EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tests/bench/snapshot.c)
target_link_libraries(bench_snapshot PRIVATE room_engine)

add_executable(bench_nccl EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tests/bench/nccl.c)
target_link_libraries(bench_nccl PRIVATE room_nccl)
