/* The headers seen by a C compiler. */
#include "layout.h"
