/* tests/fuzz/imatrix.c - any bytes as an importance matrix, in either public form: refused in one
 * line, or values that are finite and not negative, and a digest.
 * Input: the file. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/err.h"
#include "quant/importance.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct infer_str name = { "blk.0.ffn_down.weight", 21 };
	int fd = memfd_create("imatrix", 0);
	struct importance *m = NULL;
	infer_error err = { 0 };
	char path[32], hex[65];
	size_t n = 0;

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int rc = importance_open(&m, path, &err);
	must(!rc == !!m);
	must(!rc || (*err.message && !strchr(err.message, '\n') && err.code == rc));
	if (m) {
		const float *v = importance_get(m, name, &n);
		for (size_t i = 0; v && i < n; i++)
			must(isfinite(v[i]) && v[i] >= 0);
		importance_sha256(m, hex);
		must(strlen(hex) == 64 && importance_dataset(m).len <= size);
	}
	importance_free(m);
	close(fd);
	return 0;
}
