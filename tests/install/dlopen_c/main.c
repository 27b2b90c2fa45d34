/* A program that was linked without the library: opens the file named on the command line, applies
   a layer large enough to wake the worker threads, and closes the library again. */
#include <dlfcn.h>
#include <openbnns/openbnns.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCount = 1 << 20 };

typedef BNNSFilter (*CreateActivation)(const BNNSLayerParametersActivation*,
                                       const BNNSFilterParameters*);
typedef int (*Apply)(BNNSFilter, const void*, void*);
typedef void (*Destroy)(BNNSFilter);

/* ISO C does not convert object pointers to function pointers; POSIX does. */
static void find(void* library, const char* name, void* function) {
  *(void**)function = dlsym(library, name);
  if (*(void**)function == NULL) {
    printf("%s\n", dlerror());
    exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  CreateActivation create;
  Apply apply;
  Destroy destroy;
  find(library, "BNNSFilterCreateLayerActivation", &create);
  find(library, "BNNSFilterApply", &apply);
  find(library, "BNNSFilterDestroy", &destroy);

  const BNNSLayerParametersActivation params = {
      .i_desc = {.layout = BNNSDataLayoutVector,
                 .size = {kCount},
                 .data_type = BNNSDataTypeFloat32},
      .o_desc = {.layout = BNNSDataLayoutVector,
                 .size = {kCount},
                 .data_type = BNNSDataTypeFloat32},
      .activation = {.function = BNNSActivationFunctionAbs},
  };
  const BNNSFilterParameters two_threads = {.n_threads = 2};
  float* data = malloc(2 * kCount * sizeof(float));
  if (data == NULL) return 2;
  for (int i = 0; i < kCount; ++i) data[i] = (float)(i % 2 == 0 ? i : -i);
  BNNSFilter filter = create(&params, &two_threads);
  const int status = filter != NULL ? apply(filter, data, data + kCount) : -1;
  int wrong = 0;
  for (int i = 0; i < kCount; ++i) {
    if (data[kCount + i] != (float)i) ++wrong;
  }
  destroy(filter);
  free(data);
  printf("status %d, %d of %d wrong\n", status, wrong, kCount);
  return dlclose(library) == 0 && status == 0 && wrong == 0 ? 0 : 1;
}
