/* What OpenBNNS adds to the C API: reasons for failures, a log, threads, SIMD targets, reservation.
   Everything here is thread-safe. */
#ifndef OPENBNNS_OPENBNNS_H
#define OPENBNNS_OPENBNNS_H

#include "bnns.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that was loaded, e.g. "0.1.0". */
OPENBNNS_API const char* OpenBNNSGetVersion(void);

/* Why the last failing call of this thread failed: function, field, value and rule. Stays until the
   next failure on this thread; "" if there was none. The text belongs to the thread; never NULL. */
OPENBNNS_API const char* OpenBNNSGetLastError(void);

/* In order of severity: info, warning, error. The numbers are not in that order, because those of
   the other two were given out before there were warnings. */
#if defined(__cplusplus)
enum OpenBNNSLogLevel : uint32_t {
#else
enum {
#endif
  OpenBNNSLogLevelInfo = 0,  /* a plan that was chosen; a valid combination that is not supported */
  OpenBNNSLogLevelError = 1, /* a refused call: the text OpenBNNSGetLastError() returns */
  OpenBNNSLogLevelWarning = 2 /* a call that succeeds but probably not as it was meant */
};
#if !defined(__cplusplus)
typedef uint32_t OpenBNNSLogLevel;
#endif

/* Called on the thread that failed; must not throw. */
typedef void (*OpenBNNSLogCallback)(OpenBNNSLogLevel level, const char* message, void* user);

/* Replaces the log callback; NULL switches logging off. Without a call to this function nothing is
   logged, unless the environment variable OPENBNNS_LOG is set to "error", "warning" or "info" in
   any letter case: then messages of that level and above go to stderr. */
OPENBNNS_API void OpenBNNSSetLogCallback(OpenBNNSLogCallback callback, void* user);

/* Threads of filters created later with n_threads == 0; 0 restores the default, which is
   OPENBNNS_THREADS or else the number of cores. Results never depend on it. */
OPENBNNS_API int OpenBNNSSetDefaultThreads(size_t n_threads);
OPENBNNS_API size_t OpenBNNSGetDefaultThreads(void);

/* SIMD target of filters created later: "avx3", "avx2", "sse4", "neon", "scalar", or NULL for the
   best one. Returns 0, or -1 if the target is unknown, not built in, or not supported by this CPU.
   The environment variable OPENBNNS_TARGET sets the initial one. */
OPENBNNS_API int OpenBNNSSetTarget(const char* name);
OPENBNNS_API const char* OpenBNNSGetTarget(void);

/* Names of the targets this library and this CPU have in common, best first, ended by NULL. */
OPENBNNS_API const char* const* OpenBNNSGetSupportedTargets(void);

/* Makes every later apply of up to `batch_size` samples by up to `callers` threads at a time free
   of allocations: scratch memory is allocated and the worker threads are started now. 0 or -1. */
OPENBNNS_API int OpenBNNSFilterReserve(BNNSFilter filter, size_t batch_size, size_t callers);

/* Bytes the filter holds through its allocation hooks at the moment: itself, copied and packed
   weights, working memory of its callers so far. 0 if it is no filter. */
OPENBNNS_API size_t OpenBNNSFilterGetMemorySize(BNNSFilter filter);

/* 0 if a layer with this fused activation has a backward pass: its slope can be computed from the
   output. Else -1, and the last error says why. */
OPENBNNS_API int OpenBNNSCheckFusedActivation(const BNNSActivation* activation);

#ifdef __cplusplus
}
#endif
#endif
