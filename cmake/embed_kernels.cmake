# A script of cmake -P: writes OUTPUT, a C++ file that defines kProgramSource, the text of
# INPUTS. Each line becomes a string of its own, because compilers limit the length of one.
set(text "")
foreach(input ${INPUTS})
  file(READ ${input} content)
  string(APPEND text "${content}")
endforeach()
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
file(WRITE ${OUTPUT} "// Made from the kernels in src/mps/opencl by cmake/embed_kernels.cmake.
#include \"mps/opencl/device.h\"

namespace bnns::impl::mps::opencl {
const char* const kProgramSource =
    \"${text}\";
}  // namespace bnns::impl::mps::opencl
")
