/* Stands in for the Accelerate framework: BNNS, and CBLAS where the system has one. */
#include "../vecLib/vecLib.h"
