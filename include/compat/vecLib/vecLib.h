/* BNNS, and CBLAS where the system has one. */
#include "../openbnns_forward.h"

#if __has_include(<cblas.h>)
#include <cblas.h>
#endif
