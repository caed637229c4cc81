#include "tests/gpu_worker/c_api/made_tensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  QUERY_ROW = MADE_QUERY_HEADS * MADE_HEAD_SIZE,
  KV_ROW = MADE_KV_HEADS * MADE_HEAD_SIZE
};
enum Kind { QUERY, KEY, VALUE, OUTPUT_GRADIENT };

static void* allocate(size_t bytes) {
  void* const memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL) abort();
  return memory;
}

/* -1 to 1, by SplitMix64. */
static float made_number(uint64_t seed, enum Kind kind, uint64_t document,
                         uint64_t position, uint64_t element) {
  uint64_t x = ((seed * 5 + (uint64_t)kind) * 4099 + document) * 1000003 + position;
  x = x * QUERY_ROW + element + UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  x ^= x >> 31;
  return (float)((double)(x >> 40) / (1 << 23) - 1);
}

static float* made_tensor(const struct EvenpackMicroBatch* of, uint64_t seed,
                          enum Kind kind, size_t row) {
  const size_t numbers = (size_t)(of->tokens + of->padding) * row;
  float* const tensor = allocate(numbers * sizeof *tensor);
  size_t next = 0;
  for (uint64_t i = 0; i < of->slices; ++i) {
    const struct EvenpackSlice* const slice = &of->slice[i];
    for (uint32_t position = slice->begin; position < slice->end; ++position) {
      for (size_t element = 0; element < row; ++element) {
        tensor[next++] = made_number(seed, kind, slice->document, position, element);
      }
    }
  }
  while (next < numbers) tensor[next++] = (float)NAN;
  return tensor;
}

static float* no_numbers(const struct EvenpackMicroBatch* of, size_t row) {
  const size_t numbers = (size_t)(of->tokens + of->padding) * row;
  float* const tensor = allocate(numbers * sizeof *tensor);
  for (size_t i = 0; i < numbers; ++i) tensor[i] = (float)NAN;
  return tensor;
}

struct EvenpackTensors made_tensors(const struct EvenpackMicroBatch* micro_batch,
                                    uint64_t seed) {
  struct EvenpackTensors tensors;
  memset(&tensors, 0, sizeof tensors);
  tensors.struct_size = sizeof tensors;
  tensors.query = made_tensor(micro_batch, seed, QUERY, QUERY_ROW);
  tensors.key = made_tensor(micro_batch, seed, KEY, KV_ROW);
  tensors.value = made_tensor(micro_batch, seed, VALUE, KV_ROW);
  tensors.output_gradient = made_tensor(micro_batch, seed, OUTPUT_GRADIENT, QUERY_ROW);
  tensors.output = no_numbers(micro_batch, QUERY_ROW);
  tensors.log_sum_exp = no_numbers(micro_batch, MADE_QUERY_HEADS);
  tensors.query_gradient = no_numbers(micro_batch, QUERY_ROW);
  tensors.key_gradient = no_numbers(micro_batch, KV_ROW);
  tensors.value_gradient = no_numbers(micro_batch, KV_ROW);
  return tensors;
}

void made_free(struct EvenpackTensors* tensors) {
  free((void*)(uintptr_t)tensors->query);
  free((void*)(uintptr_t)tensors->key);
  free((void*)(uintptr_t)tensors->value);
  free((void*)(uintptr_t)tensors->output_gradient);
  free(tensors->output);
  free(tensors->log_sum_exp);
  free(tensors->query_gradient);
  free(tensors->key_gradient);
  free(tensors->value_gradient);
}

/* By the definition, all rows of a document. */
struct Defined {
  double* output;
  double* log_sum_exp;
  double* query_gradient;
  double* key_gradient;
  double* value_gradient;
};

static double* zeros(size_t rows, size_t row) {
  double* const numbers = calloc(rows * row, sizeof *numbers);
  if (numbers == NULL) abort();
  return numbers;
}

struct Head {
  uint64_t seed;
  uint32_t document;
  size_t query_head;
};

static double dot(const struct Head* head, enum Kind a, size_t i, enum Kind b,
                  size_t j) {
  const size_t query = head->query_head * MADE_HEAD_SIZE;
  const size_t kv =
      head->query_head / (MADE_QUERY_HEADS / MADE_KV_HEADS) * MADE_HEAD_SIZE;
  double sum = 0;
  for (size_t e = 0; e < MADE_HEAD_SIZE; ++e) {
    sum += (double)made_number(head->seed, a, head->document, i, query + e) *
           (double)made_number(head->seed, b, head->document, j, kv + e);
  }
  return sum;
}

/* Adds what one query, at position i, has part in. */
static void define_query(const struct Head* head, size_t i, double* weight,
                         double* gradient, const struct Defined* defined) {
  const double scale = 1 / sqrt((double)MADE_HEAD_SIZE);
  const size_t query = head->query_head * MADE_HEAD_SIZE;
  const size_t kv =
      head->query_head / (MADE_QUERY_HEADS / MADE_KV_HEADS) * MADE_HEAD_SIZE;
  double sum = 0;
  double mean = 0;
  for (size_t j = 0; j <= i; ++j) {
    weight[j] = exp(scale * dot(head, QUERY, i, KEY, j));
    gradient[j] = dot(head, OUTPUT_GRADIENT, i, VALUE, j);
    sum += weight[j];
    mean += weight[j] * gradient[j];
  }
  mean /= sum;
  defined->log_sum_exp[i * MADE_QUERY_HEADS + head->query_head] = log(sum);
  for (size_t j = 0; j <= i; ++j) {
    const double share = weight[j] / sum;
    const double of_score = scale * share * (gradient[j] - mean);
    for (size_t e = 0; e < MADE_HEAD_SIZE; ++e) {
      const size_t at_query = i * QUERY_ROW + query + e;
      const size_t at_key = j * KV_ROW + kv + e;
      const uint32_t document = head->document;
      defined->output[at_query] +=
          share * (double)made_number(head->seed, VALUE, document, j, kv + e);
      defined->query_gradient[at_query] +=
          of_score * (double)made_number(head->seed, KEY, document, j, kv + e);
      defined->key_gradient[at_key] +=
          of_score * (double)made_number(head->seed, QUERY, document, i, query + e);
      defined->value_gradient[at_key] +=
          share *
          (double)made_number(head->seed, OUTPUT_GRADIENT, document, i, query + e);
    }
  }
}

static struct Defined define(uint64_t seed, uint32_t document, size_t length) {
  struct Defined defined = {zeros(length, QUERY_ROW), zeros(length, MADE_QUERY_HEADS),
                            zeros(length, QUERY_ROW), zeros(length, KV_ROW),
                            zeros(length, KV_ROW)};
  double* const weight = zeros(length, 1);
  double* const gradient = zeros(length, 1);
  struct Head head = {seed, document, 0};
  for (; head.query_head < MADE_QUERY_HEADS; ++head.query_head) {
    for (size_t i = 0; i < length; ++i) {
      define_query(&head, i, weight, gradient, &defined);
    }
  }
  free(weight);
  free(gradient);
  return defined;
}

static void free_defined(struct Defined* defined) {
  free(defined->output);
  free(defined->log_sum_exp);
  free(defined->query_gradient);
  free(defined->key_gradient);
  free(defined->value_gradient);
}

enum { RESULTS = 5 };

/* Of one result: its largest difference, and the largest number. */
struct Difference {
  double largest;
  double number;
};

static void compare_rows(const float* got, const double* expected, size_t numbers,
                         struct Difference* difference) {
  for (size_t i = 0; i < numbers; ++i) {
    const double off = fabs((double)got[i] - (expected == NULL ? 0 : expected[i]));
    if (!(off <= difference->largest))
      difference->largest = isnan(off) ? INFINITY : off;
    if (expected != NULL) {
      difference->number = fmax(difference->number, fabs(expected[i]));
    }
  }
}

/* Rows of the rank's results; `defined` is NULL for padding. */
static void compare(const struct EvenpackTensors* tensors, uint64_t row, size_t rows,
                    const struct Defined* defined, size_t position,
                    struct Difference* differences) {
  const float* const got[RESULTS] = {tensors->output, tensors->log_sum_exp,
                                     tensors->query_gradient, tensors->key_gradient,
                                     tensors->value_gradient};
  const double* expected[RESULTS] = {NULL, NULL, NULL, NULL, NULL};
  const size_t widths[RESULTS] = {QUERY_ROW, MADE_QUERY_HEADS, QUERY_ROW, KV_ROW,
                                  KV_ROW};
  if (defined != NULL) {
    expected[0] = defined->output;
    expected[1] = defined->log_sum_exp;
    expected[2] = defined->query_gradient;
    expected[3] = defined->key_gradient;
    expected[4] = defined->value_gradient;
  }
  for (size_t i = 0; i < RESULTS; ++i) {
    compare_rows(got[i] + row * widths[i],
                 defined == NULL ? NULL : expected[i] + position * widths[i],
                 rows * widths[i], &differences[i]);
  }
}

double made_error(const struct EvenpackMicroBatch* micro_batch, uint64_t seed,
                  const struct EvenpackTensors* tensors) {
  struct Difference differences[RESULTS];
  memset(differences, 0, sizeof differences);
  uint64_t row = 0;
  for (uint64_t i = 0; i < micro_batch->slices; ++i) {
    const struct EvenpackSlice* const slice = &micro_batch->slice[i];
    struct Defined defined =
        define(seed, slice->document, micro_batch->document[slice->document].length);
    compare(tensors, row, slice->end - slice->begin, &defined, slice->begin,
            differences);
    free_defined(&defined);
    row += slice->end - slice->begin;
  }
  compare(tensors, row, micro_batch->padding, NULL, 0, differences);
  double error = row == micro_batch->tokens ? 0 : INFINITY;
  for (size_t i = 0; i < RESULTS; ++i) {
    error = fmax(error, differences[i].largest / fmax(differences[i].number, 0.1));
  }
  return error;
}
