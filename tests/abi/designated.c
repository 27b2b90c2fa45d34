#include "designated.h"

int main(void) {
  return run();
}
