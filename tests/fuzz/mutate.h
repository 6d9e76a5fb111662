/* tests/fuzz/mutate.h - changes of GGUF files that keep most of their structure, for fuzz targets
 * that read one. */
#ifndef TESTS_FUZZ_MUTATE_H
#define TESTS_FUZZ_MUTATE_H
#include <stddef.h>
#include <stdint.h>

/* Changes n of at most `most` bytes without regard to their meaning, and returns how many there are
 * now. */
typedef size_t mutate_fn(uint8_t *data, size_t n, size_t most);

/* Takes the n bytes at data for a GGUF file and what follows one, changes a few things in it, and
 * writes it back.  Returns the bytes written, or 0 with data as it was: no file, or the new one
 * needs more than `most`.  raw (may be NULL) changes strings. */
size_t mutate_gguf(uint8_t *data, size_t n, size_t most, uint64_t seed, mutate_fn *raw);

/* The file a with a key, a tensor or the end of the file b, in room for `most` bytes at out; 0 as
 * above. */
size_t mutate_join(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, uint8_t *out,
                   size_t most, uint64_t seed);
#endif
