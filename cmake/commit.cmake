# Writes the C++ source file OUTPUT with the commit of the tree SOURCE. It runs at every build, because a commit does not
# make CMake run again. It only writes the file if it changes, so that an unchanged tree compiles nothing.
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

# If the tree lies inside another repository, it has no commit of its own. Git refuses a tree of another user because
# of its hooks and settings, but CMake executes the tree's files anyway.
if(commit STREQUAL "" AND EXISTS ${SOURCE}/.git)
  execute_process(
    COMMAND git -c safe.directory=* -C ${SOURCE} describe --always --exclude=* --abbrev=12 --dirty
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()

# For a copy without a repository, a hash of the sources tells two copies apart.
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
