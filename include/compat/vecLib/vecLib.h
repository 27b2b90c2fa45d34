/* BNNS, the functions of <math.h> that sources for macOS get along with it, and CBLAS where the
   system has one.

   A compiler asked for strict ISO C (-std=c11) makes the C library hide what POSIX adds, such as
   M_PI and CLOCK_MONOTONIC; on a Mac they stay visible, so this header asks for them. The first
   system header of a source file makes the choice for all; where that came before this one, glibc
   is made to choose again, for the headers that follow. Whoever chose a set of functions keeps that
   choice. */
#if defined(__STRICT_ANSI__) && !defined(__cplusplus) && !defined(_DEFAULT_SOURCE) && \
    !defined(_GNU_SOURCE) && !defined(_POSIX_SOURCE) && !defined(_POSIX_C_SOURCE) &&  \
    !defined(_XOPEN_SOURCE) && !defined(_ISOC99_SOURCE) && !defined(_ISOC11_SOURCE)
#if !defined(_FEATURES_H)
#define _DEFAULT_SOURCE 1
#elif defined(__GLIBC__)
#define _DEFAULT_SOURCE 1
#undef _FEATURES_H
#include <features.h>
#endif
#endif

#include "../openbnns_forward.h"

#include <math.h>

#if __has_include(<cblas.h>)
#include <cblas.h>
#endif
