/* tests/unit/tok/test_points.c - every pre-tokenizer splits every assigned code point as the
 * package tokenizers does (tests/golden/unicode, made by scripts/golden-unicode.py).  Ideographs
 * and syllables that are all alike are sampled here; scripts/check-tokenizers.py takes all. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "base/sha256.h"
#include "text/unicode.h"
#include "tok/pretok.h"

#define DIR "tests/golden/unicode/"
enum { TEXT = 256, LINE = 1024, BLOCKS = 64, BLOCK = 4096 };

static FILE *golden(const char *name)
{
	char path[64];

	snprintf(path, sizeof path, DIR "%s", name);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	return f;
}

static struct pretok_code *named(const char *name)
{
	const struct pretok *p = pretok_find(name, strlen(name));
	struct pretok_code *c;

	if (!p)
		fail_msg("no pre-tokenizer %s", name);
	assert_int_equal(pretok_new(&c, p, PRETOK_WITH_SCANNERS, NULL), INFER_OK);
	return c;
}

/* Write `pattern` to out; in the place of @ code point cp, of H, K and M three that are no ASCII.
 * Returns the bytes. */
static size_t fill(char out[TEXT], const char *pattern, uint32_t cp)
{
	size_t n = 0;

	for (; *pattern; pattern++) {
		uint32_t c = (unsigned char)*pattern;
		c = c == '@' ? cp : c == 'H' ? 0x4e2d : c == 'K' ? 0x3042 : c == 'M' ? 0x301 : c;
		n += (size_t)utf8_put(out + n, c);
	}
	return n;
}

/* ---- every code point ----------------------------------------------------------------------- */

/* tokenlib.around */
static const char around[] = "I @ @@a !@ @@! 1@@@2 'S@'s\n@@ \n @\n  @A@b.H@KM@M/ @";

static int is_tested(uint32_t cp)
{
	static const uint32_t large[][2] = { { 0x3400, 0x4dbf },
		                             { 0x4e00, 0x9fff },
		                             { 0xac00, 0xd7a3 },
		                             { 0x17000, 0x18cff },
		                             { 0x20000, 0x323af } };

	if (unicode_set(cp) & (UNI_BIT(UNI_CN) | UNI_BIT(UNI_CO) | UNI_BIT(UNI_CS)))
		return 0;
	for (size_t i = 0; i < sizeof large / sizeof *large; i++)
		if (cp >= large[i][0] && cp <= large[i][1])
			return cp % 64 == 0;
	return 1;
}

static int add_length(void *user, const char *s, size_t n, infer_error *err)
{
	uint8_t byte = (uint8_t)n;

	(void)s;
	(void)err;
	sha256_add(user, &byte, 1);
	return INFER_OK;
}

static void digest_block(const struct pretok_code *c, uint32_t block, char out[9])
{
	struct sha256 h;
	uint8_t sum[32];
	char text[TEXT], hex[65];

	sha256_init(&h);
	for (uint32_t cp = block * BLOCK; cp < (block + 1) * BLOCK; cp++)
		if (is_tested(cp)) {
			size_t n = fill(text, around, cp);
			assert_int_equal(pretok_run(c, text, n, add_length, &h, NULL), INFER_OK);
		}
	sha256_end(&h, sum);
	sha256_hex(sum, hex);
	memcpy(out, hex, 8);
	out[8] = 0;
}

static void test_every_point(void **state)
{
	FILE *f = golden("splits.txt");
	uint32_t block[BLOCKS];
	char line[LINE], *at;
	size_t n = 0, rows = 0;

	(void)state;
	assert_non_null(fgets(line, sizeof line, f));
	for (strtok_r(line, " \n", &at); n < BLOCKS; n++) {
		const char *word = strtok_r(NULL, " \n", &at);
		if (!word)
			break;
		block[n] = (uint32_t)strtoul(word, NULL, 16);
	}
	assert_in_range(n, 40, BLOCKS - 1);
	for (; fgets(line, sizeof line, f); rows++) {
		const char *name = strtok_r(line, " \n", &at);
		struct pretok_code *c = named(name);
		for (size_t i = 0; i < n; i++) {
			const char *want = strtok_r(NULL, " \n", &at);
			char got[9];
			assert_non_null(want);
			if (NTH_SANITIZED &&
			    (i + rows) % 4) /* they are slow: a quarter of the blocks */
				continue;
			digest_block(c, block[i], got);
			if (strcmp(got, want))
				fail_msg("%s: a code point of U+%X ... U+%X is split otherwise; "
				         "scripts/check-tokenizers.py names it",
				         name, block[i] * BLOCK, (block[i] + 1) * BLOCK - 1);
		}
		pretok_free(c);
	}
	assert_true(rows >= 30);
	fclose(f);
}

/* ---- code points that are new in Unicode 15 and 16 ------------------------------------------ */

static int print_length(void *user, const char *s, size_t n, infer_error *err)
{
	char *out = user;
	size_t len = strlen(out);

	(void)s;
	(void)err;
	snprintf(out + len, TEXT - len, "%s%zu", len ? " " : "", n);
	return INFER_OK;
}

static void test_new_points(void **state)
{
	FILE *f = golden("new.txt");
	char line[LINE], name[64] = "", pre[64], want[TEXT];
	struct pretok_code *c = NULL;
	size_t rows = 0;
	uint32_t cp;

	(void)state;
	for (; fgets(line, sizeof line, f); rows++) {
		char text[TEXT], got[TEXT] = "";
		assert_int_equal(sscanf(line, "%63s %x %255[0-9 ]", pre, &cp, want), 3);
		if (strcmp(pre, name)) {
			pretok_free(c);
			c = named(pre);
			snprintf(name, sizeof name, "%s", pre);
		}
		size_t n = fill(text, "I @@ a@ !", cp);
		assert_int_equal(pretok_run(c, text, n, print_length, got, NULL), INFER_OK);
		if (strcmp(got, want))
			fail_msg("%s, U+%04X: pieces of %s bytes, not %s", pre, cp, got, want);
	}
	pretok_free(c);
	assert_true(rows > 900);
	fclose(f);
}

/* ---- no class of PCRE2 ---------------------------------------------------------------------- */

/* An expression without a scanner is run by PCRE2, whose Unicode version is that of the
 * distribution: it contains no class of characters and folds no case. */
static void test_no_classes(void **state)
{
	static const char *const classes[] = { "\\p", "\\P", "\\w", "\\W", "\\s", "\\S", "\\d",
		                               "\\D", "\\b", "\\B", "\\X", "\\R", "[[:", "(?i" };
	const struct pretok *p;
	size_t without = 0;

	(void)state;
	for (size_t i = 0; (p = pretok_at(i)); i++)
		for (size_t k = 0; k < PRETOK_STAGES && p->stage[k].pattern; k++) {
			without += !p->stage[k].scan;
			for (size_t x = 0; x < sizeof classes / sizeof *classes; x++)
				if (!p->stage[k].scan && strstr(p->stage[k].pattern, classes[x]))
					fail_msg("%s: %s needs a scanner because of %s", p->names,
					         p->stage[k].pattern, classes[x]);
		}
	assert_true(without > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_point),
		cmocka_unit_test(test_new_points),
		cmocka_unit_test(test_no_classes),
	};
	return nth_group(tests);
}
