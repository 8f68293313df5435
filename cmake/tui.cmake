# The screen: everything in tui/ but main.c, as the libraries room_tui (what draws, pure but for the terminal) and room_app (panels,
# app and commands, on top of the engine). Without ncursesw or libtermkey they are left out, and the program runs headless.
pkg_check_modules(NCURSES IMPORTED_TARGET ncursesw)
pkg_check_modules(TERMKEY IMPORTED_TARGET termkey)
pkg_check_modules(VTERM IMPORTED_TARGET vterm)

if(NCURSES_FOUND AND TERMKEY_FOUND)
  file(GLOB tui_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tui/*.c)
  list(REMOVE_ITEM tui_sources ${CMAKE_SOURCE_DIR}/tui/main.c)
  set(app_sources view staging reproduce preset_shelf panels app app_keys app_actions app_turning app_table app_job script screen command
      replay_command attach_command farewell front taste)
  list(TRANSFORM app_sources REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/tui/\\1.c")
  list(REMOVE_ITEM tui_sources ${app_sources})
  file(GLOB panel_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tui/panels/*.c)
  add_library(room_tui STATIC ${tui_sources})
  target_link_libraries(room_tui PUBLIC room_base m PRIVATE PkgConfig::NCURSES PkgConfig::TERMKEY)
  add_library(room_app STATIC ${app_sources} ${panel_sources})
  target_link_libraries(room_app PUBLIC room_tui room_cli)
  target_compile_definitions(inductop PRIVATE INDUCTOP_SCREEN)
  target_link_libraries(inductop PRIVATE room_app)
else()
  message(STATUS "left out: the screen (ncursesw or libtermkey is not installed)")
endif()

# Fuzz targets, with clang: cmake -DCMAKE_C_COMPILER=clang -DINDUCTOP_FUZZ=ON, then fuzz_keys and fuzz_text.
option(INDUCTOP_FUZZ "build the fuzz targets (needs clang)" OFF)
if(INDUCTOP_FUZZ AND TARGET room_tui)
  foreach(name keys text)
    add_executable(fuzz_${name} EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tests/fuzz/${name}.c)
    target_link_libraries(fuzz_${name} PRIVATE room_tui)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  endforeach()
endif()

# The path to a real terminal, with libvterm in the terminal's place.
if(TARGET room_tui AND CMOCKA_FOUND AND VTERM_FOUND)
  add_executable(screens_test_term ${CMAKE_SOURCE_DIR}/tests/screens/test_term.c)
  target_link_libraries(screens_test_term PRIVATE room_tui PkgConfig::CMOCKA PkgConfig::VTERM)
  add_test(NAME screens/term COMMAND screens_test_term)
  set_tests_properties(screens/term PROPERTIES TIMEOUT 120)
  add_executable(show_terminal ${CMAKE_SOURCE_DIR}/tests/support/show_terminal.c)
  target_link_libraries(show_terminal PRIVATE PkgConfig::VTERM)
elseif(TARGET room_tui)
  message(STATUS "left out: tests of the terminal's path (libvterm is not installed)")
endif()

# What tests of golden screens and of the README's keys run.
if(TARGET room_app)
  add_executable(break_panel ${CMAKE_SOURCE_DIR}/tests/support/break_panel.c)
  target_link_libraries(break_panel PRIVATE room_app)
  target_link_options(break_panel PRIVATE -Wl,--wrap=panel_classes)
  add_executable(print_keys ${CMAKE_SOURCE_DIR}/tests/support/print_keys.c)
  target_link_libraries(print_keys PRIVATE room_tui)
endif()

# Unit tests of what stands on top of the engine: staging, fields, the app on a tape.
if(TARGET room_app AND CMOCKA_FOUND)
  file(GLOB app_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/app/test_*.c)
  foreach(source ${app_tests})
    get_filename_component(test ${source} NAME_WE)
    add_executable(app_${test} ${source})
    target_link_libraries(app_${test} PRIVATE room_app PkgConfig::CMOCKA)
    add_test(NAME unit/app/${test} COMMAND app_${test})
    set_tests_properties(unit/app/${test} PROPERTIES TIMEOUT 120)
  endforeach()
endif()

# A sample screen from made-up data, in a dump or on a terminal: screen_demo 120x40 --svg, screen_demo --live.
if(TARGET room_tui)
  add_executable(screen_demo EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tests/support/screen_demo.c)
  target_link_libraries(screen_demo PRIVATE room_tui)
endif()
