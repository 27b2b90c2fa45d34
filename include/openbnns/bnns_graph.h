/* Types of the graph API, so that sources which mention them compile. None of its functions is
   declared, and neither are its callback types, which only those functions take. */
#ifndef OPENBNNS_BNNS_GRAPH_H
#define OPENBNNS_BNNS_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "bnns_constants.h"
#include "bnns_structures.h"

typedef struct {
  void* data;
  size_t size;
} bnns_graph_t;

typedef struct {
  void* data;
  size_t size;
} bnns_graph_context_t;

typedef struct {
  void* data;
  size_t size;
} bnns_graph_compile_options_t;

typedef struct {
  size_t rank;
  uint64_t* shape;
} bnns_graph_shape_t;

typedef struct {
  size_t size;
  void* data;
} bnns_user_message_data_t;

/* One argument of a graph function, as a tensor, a descriptor or plain memory. */
typedef struct {
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
  union {
#else
  __extension__ union {
#endif
    BNNSTensor* tensor;
    BNNSNDArrayDescriptor* descriptor;
    void* data_ptr;
  };
  size_t data_ptr_size; /* of data_ptr, in bytes */
} bnns_graph_argument_t;

#endif
