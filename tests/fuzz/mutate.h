/* tests/fuzz/mutate.h - mutations of GGUF files that keep most of their structure, for fuzz targets
 * that read one. */
#ifndef TESTS_FUZZ_MUTATE_H
#define TESTS_FUZZ_MUTATE_H
#include <stddef.h>
#include <stdint.h>

/* Change n bytes without regard to their meaning, in a buffer of `most`, and return their new
 * number. */
typedef size_t mutate_fn(uint8_t *data, size_t n, size_t most);

/* Read the n bytes at data as a GGUF file and whatever follows it, change a few parts, and write
 * it back.  Returns the bytes written, or 0 with data unchanged: not a GGUF file, or the new one
 * needs more than `most`. raw (may be NULL) changes strings. */
size_t mutate_gguf(uint8_t *data, size_t n, size_t most, uint64_t seed, mutate_fn *raw);

/* Write the file a with a key, a tensor or the end of the file b to out, at most `most` bytes; 0 as
 * above. */
size_t mutate_join(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, uint8_t *out,
                   size_t most, uint64_t seed);
#endif
