# The support folder: what the program needs beside itself, copied to lib/inductop in the build folder, and installed from there.
#
#     lib/inductop/site/sitecustomize.py          lib/inductop/presets/*.yaml
#     lib/inductop/agent/inductop_agent/*.py      lib/inductop/demo/*
#     lib/inductop/bridge/engine/{rank/bridge/bridge.cc,rank/bridge/table.h,wire/door.h}   what the bridge to libtorch is built from, on the user's machine
#     lib/inductop/agent/inductop_agent/settings.json    printed by the program from setup/settings.def
#
# The same file is the script that copies (cmake -P): it takes a list of "SOURCE|PLACE" lines, copies what differs and removes
# what an earlier list had and this one has not. What others put into these folders it leaves alone.
if(CMAKE_SCRIPT_MODE_FILE)
  file(STRINGS ${LIST} lines)
  set(places)
  foreach(line IN LISTS lines)
    string(REPLACE "|" ";" pair "${line}")
    list(GET pair 0 source)
    list(GET pair 1 place)
    get_filename_component(folder ${TO}/${place} DIRECTORY)
    file(COPY ${source} DESTINATION ${folder})
    list(APPEND places ${place})
  endforeach()
  if(EXISTS ${LIST}.copied)
    file(STRINGS ${LIST}.copied earlier)
    if(earlier AND places)
      list(REMOVE_ITEM earlier ${places})
    endif()
    foreach(place IN LISTS earlier)
      file(REMOVE ${TO}/${place})
    endforeach()
  endif()
  list(JOIN places "\n" text)
  file(WRITE ${LIST}.copied "${text}\n")
  return()
endif()

set(share_to ${CMAKE_BINARY_DIR}/lib/inductop)
set(share_list ${CMAKE_BINARY_DIR}/share.list)
set(share_sources)
set(share_lines "")

# share(FOLDER PLACE PATTERN...): files of a source folder and the folder under lib/inductop that they go to
function(share folder place)
  foreach(pattern ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/${pattern})
    foreach(source ${sources})
      if(IS_DIRECTORY ${source})
        continue()
      endif()
      get_filename_component(name ${source} NAME)
      string(APPEND share_lines "${source}|${place}/${name}\n")
      list(APPEND share_sources ${source})
    endforeach()
  endforeach()
  set(share_lines "${share_lines}" PARENT_SCOPE)
  set(share_sources ${share_sources} PARENT_SCOPE)
endfunction()

share(engine/rank/agent/site site sitecustomize.py)
share(engine/rank/agent agent/inductop_agent *.py)
share(engine/rank/bridge bridge/engine/rank/bridge bridge.cc table.h)
share(engine/wire bridge/engine/wire door.h)
share(presets presets *.yaml)
share(engine/cli/demo demo *)

# Written only when it differs, so that nothing is copied again without a reason.
file(GENERATE OUTPUT ${share_list} CONTENT "${share_lines}")
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/share.list.copied
  COMMAND ${CMAKE_COMMAND} -DLIST=${share_list} -DTO=${share_to} -P ${CMAKE_SOURCE_DIR}/cmake/share.cmake
  DEPENDS ${share_list} ${share_sources} ${CMAKE_SOURCE_DIR}/cmake/share.cmake
  COMMENT "copying agent, presets and demo to lib/inductop"
  VERBATIM)
add_custom_target(share_files ALL DEPENDS ${CMAKE_BINARY_DIR}/share.list.copied)

if(TARGET inductop)
  set(share_settings ${share_to}/agent/inductop_agent/settings.json)
  add_custom_command(
    OUTPUT ${share_settings}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${share_to}/agent/inductop_agent
    COMMAND $<TARGET_FILE:inductop> --print-tables settings > ${share_settings}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${share_settings}.new ${share_settings}
    DEPENDS inductop
    COMMENT "printing settings.json"
    VERBATIM)
  add_custom_target(share_settings ALL DEPENDS ${share_settings})

  set(manual ${CMAKE_BINARY_DIR}/inductop.1)
  add_custom_command(
    OUTPUT ${manual}
    COMMAND $<TARGET_FILE:inductop> --print-man > ${manual}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${manual}.new ${manual}
    DEPENDS inductop
    COMMENT "printing the manual page"
    VERBATIM)
  add_custom_target(manual ALL DEPENDS ${manual})
endif()

include(GNUInstallDirs)
if(TARGET inductop)
  install(TARGETS inductop RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${CMAKE_BINARY_DIR}/inductop.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
# lib as such, never lib64 or a triplet: the program looks for it beside its own folder.
install(DIRECTORY ${share_to} DESTINATION lib PATTERN "__pycache__" EXCLUDE PATTERN "*.new" EXCLUDE)
