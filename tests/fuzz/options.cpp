// Sanitizer defaults of the fuzz targets: memory running out is an answer, not a finding.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}

extern "C" const char* __ubsan_default_options() {
  return "print_stacktrace=1";
}
