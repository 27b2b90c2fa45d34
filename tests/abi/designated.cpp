#include "designated.h"

int main() {
  return run();
}
