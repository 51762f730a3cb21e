# Writes the C++ source file OUTPUT, which says of which commit the tree SOURCE is. Run at every build, because commits
# come without CMake being run anew. The file is only written if it changes, so a build with nothing to do does nothing.
#
#   cmake -D SOURCE=DIR -D OUTPUT=FILE [-D COMMIT=TEXT] -P cmake/commit.cmake

string(STRIP "${COMMIT}" commit) # what a packager says comes first

if(commit STREQUAL "")
  file(READ ${SOURCE}/cmake/commit.txt commit) # `git archive` has put the commit there
  string(STRIP "${commit}" commit)
  if(commit MATCHES "^[0-9a-f]+$")
    string(SUBSTRING ${commit} 0 12 commit)
  else()
    set(commit "")
  endif()
endif()

# A tree inside of another repository has none of its own. Git refuses a tree of another user, which matters for its
# hooks and settings; here CMake already executes what the tree says.
if(commit STREQUAL "" AND EXISTS ${SOURCE}/.git)
  execute_process(
    COMMAND git -c safe.directory=* -C ${SOURCE} describe --always --exclude=* --abbrev=12 --dirty
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()

# A copy without a repository: a hash of what is compiled tells two of them apart.
if(commit STREQUAL "")
  file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/cmd/*.?pp ${SOURCE}/include/*.hpp ${SOURCE}/src/*.?pp)
  list(SORT files)
  foreach(file ${files})
    file(SHA256 ${SOURCE}/${file} hash)
    string(APPEND hashes "${file} ${hash}\n")
  endforeach()
  string(SHA256 hash "${hashes}")
  string(SUBSTRING ${hash} 0 12 hash)
  set(commit "none, sources ${hash}")
endif()

configure_file(${CMAKE_CURRENT_LIST_DIR}/commit.cpp.in ${OUTPUT} @ONLY)
