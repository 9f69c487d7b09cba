# cmake -DOUTPUT=… -DOURS=… -DTHEIRS=… -DCXX=… -DLINKER=… -DNM=… -DOBJCOPY=… -DAR=… -P bundle.cmake
# Makes one archive with one object of our libraries and of what they need of others, whose names are local in it.
function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE printed ERROR_VARIABLE printed RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    list(JOIN ARGV " " words)
    message(FATAL_ERROR "failed (${code}): ${words}\n${printed}")
  endif()
endfunction()

get_filename_component(folder "${OUTPUT}" DIRECTORY)
set(work "${OUTPUT}.parts")
file(REMOVE_RECURSE "${work}")
file(MAKE_DIRECTORY "${folder}" "${work}")

# The demangler that can be stopped is in libsupc++ alone. Its other objects are in every C++ program: only this one.
execute_process(COMMAND "${CXX}" -print-file-name=libsupc++.a OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND "${AR}" x "${runtime}" cp-demangle.o WORKING_DIRECTORY "${work}" RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "no cp-demangle.o in '${runtime}'")
endif()

set(object "${work}/gprof.o")
run("${LINKER}" -r -o "${object}" --whole-archive ${OURS} --no-whole-archive "${work}/cp-demangle.o" ${THEIRS})

# Weak names are left alone: those of inline functions are shared between all that has them, and are the same in all.
execute_process(COMMAND "${NM}" --defined-only --extern-only --format=posix "${work}/cp-demangle.o" ${THEIRS}
                OUTPUT_VARIABLE lines ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n ]+ [ABCDGRST] " found "${lines}")
list(TRANSFORM found REPLACE " . $" "")
list(JOIN found "\n" names)
file(WRITE "${work}/local" "${names}\n")
run("${OBJCOPY}" "--localize-symbols=${work}/local" "${object}")

file(REMOVE "${work}/libgprof.a")
run("${AR}" rcs "${work}/libgprof.a" "${object}")
file(RENAME "${work}/libgprof.a" "${OUTPUT}")
file(REMOVE_RECURSE "${work}")
