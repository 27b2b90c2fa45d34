/* What every header of this folder includes: the C API, and empty definitions of the annotations
   that sources written for macOS may use. The API is found by relative path, so that this folder
   alone on the include path is enough; it is include/compat in the source tree and
   include/openbnns/compat when installed. */
#ifndef OPENBNNS_COMPAT_FORWARD_H
#define OPENBNNS_COMPAT_FORWARD_H

#if __has_include("../openbnns/bnns.h")
#include "../openbnns/bnns.h"
#else
#include "../bnns.h"
#endif

#if defined(__has_feature)
#if __has_feature(nullability)
#define OPENBNNS_HAS_NULLABILITY 1
#endif
#endif

#if !defined(OPENBNNS_HAS_NULLABILITY)
#ifndef _Nullable
#define _Nullable
#endif
#ifndef _Nonnull
#define _Nonnull
#endif
#ifndef _Null_unspecified
#define _Null_unspecified
#endif
#endif

#ifndef API_AVAILABLE
#define API_AVAILABLE(...)
#endif
#ifndef API_UNAVAILABLE
#define API_UNAVAILABLE(...)
#endif
#ifndef API_DEPRECATED
#define API_DEPRECATED(...)
#endif
#ifndef API_DEPRECATED_WITH_REPLACEMENT
#define API_DEPRECATED_WITH_REPLACEMENT(...)
#endif
#ifndef __OSX_AVAILABLE
#define __OSX_AVAILABLE(...)
#endif
#ifndef __IOS_AVAILABLE
#define __IOS_AVAILABLE(...)
#endif

#endif
