// What sources in C++ use through the one header.
#include <Accelerate/Accelerate.h>

int main() {
  return std::sqrt(BNNSDataLayoutGetRank(BNNSDataLayout4DFirstMajor) * 1.0) == 2 && M_PI > 3 ? 0
                                                                                             : 1;
}
