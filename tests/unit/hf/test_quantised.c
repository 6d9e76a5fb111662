/* tests/unit/hf/test_quantised.c - quantised checkpoints hold the values of the libraries that made them: every directory of
 * tests/golden/quantised (scripts/golden-quantised-*.py), by type and by the sha256 of all values. */
#include "../nth.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/sha256.h"
#include "file/file.h"
#include "type/type.h"

#define GOLDEN "tests/golden/quantised"

static float round_to(float x, const char *dtype)
{
	if (!strcmp(dtype, "bf16"))
		return num_bf16(num_to_bf16(x));
	return strcmp(dtype, "f16") ? x : num_f16(num_to_f16(x));
}

/* The sha256 of all values of t, rounded. */
static void sum_values(char out[65], const struct infer_tensor *t, const char *dtype)
{
	size_t n = (size_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
	float *x = malloc(n * sizeof *x);
	struct sha256 s;
	uint8_t sum[32];

	assert_non_null(x);
	type_get(t->type)->decode(x, t->data, n / (size_t)type_get(t->type)->info.block);
	for (size_t i = 0; i < n; i++)
		x[i] = round_to(x[i], dtype);
	sha256_init(&s);
	sha256_add(&s, x, n * sizeof *x);
	sha256_end(&s, sum);
	sha256_hex(sum, out);
	free(x);
}

/* Compare a line of sums.txt. */
static void check_line(const infer_file *f, const char *dir, const char *line)
{
	char name[80], type[16], dtype[8], want[65], have[65];
	const struct infer_tensor *t;

	assert_int_equal(sscanf(line, "%79s %15s %7s %64s", name, type, dtype, want), 4);
	t = infer_file_tensor(f, name);
	if (!t)
		fail_msg("%s: no tensor %s", dir, name);
	assert_string_equal(infer_type_info(t->type)->name, type);
	sum_values(have, t, dtype);
	if (strcmp(have, want))
		fail_msg("%s: %s (%s): the values are not those of the library", dir, name, type);
}

static int check_directory(const char *name)
{
	char path[256], line[256];
	infer_file *f = NULL;
	infer_error err;
	FILE *sums;
	int rc, lines = 0;

	snprintf(path, sizeof path, GOLDEN "/%s", name);
	rc = infer_file_open(&f, path, &err);
	if (rc && rc != INFER_ENOMEM)
		fail_msg("%s", err.message);
	if (rc)
		return rc;
	snprintf(path, sizeof path, GOLDEN "/%s/sums.txt", name);
	sums = fopen(path, "r");
	assert_non_null(sums);
	for (; fgets(line, sizeof line, sums); lines++)
		check_line(f, name, line);
	fclose(sums);
	assert_true(lines > 0);
	infer_file_close(&f);
	return INFER_OK;
}

static void test_all(void **state)
{
	DIR *d = opendir(GOLDEN);
	int n = 0;

	(void)state;
	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.') {
			assert_int_equal(check_directory(e->d_name), INFER_OK);
			n++;
		}
	closedir(d);
	assert_true(n >= 4);
}

static int case_open(void) { return check_directory("mlx"); }

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all), nth_case(case_open) };

	return nth_group(tests);
}
