/* tests/fuzz/options.c - any arguments to the option parser: refused or parsed without harm, and then
 * checked for options that do not go together.
 * Input: arguments, separated by NUL. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "common/opt.h"

struct values {
	int flag, more, stop, pick;
	int64_t whole;
	struct opt_bits bits;
	uint64_t size;
	double num;
	const char *str;
	struct opt_list list;
};

#define AT(f) offsetof(struct values, f)
static const struct opt rows[] = {
	{ OPT_GROUP, .help = "All kinds" },
	{ OPT_FLAG, 'f', "flag", NULL, "a flag", AT(flag), .value = 7, .marks = OPT_RECORDED },
	{ OPT_MORE, 'v', "more", NULL, "counted", AT(more) },
	{ OPT_INT, 'n', "whole", "N", "a whole number", AT(whole), -5, 1000,
	  .marks = OPT_RECORDED },
	{ OPT_BITS, 0, "seed", "N", "64 bits", AT(bits) },
	{ OPT_SIZE, 0, "size", "SIZE", "bytes", AT(size), 1, 1e18 },
	{ OPT_NUM, 0, "num", "X", "a number", AT(num), 0, 1, .marks = OPT_ABOVE_LO },
	{ OPT_STR, 's', "str", "STR", "a text", AT(str), .marks = OPT_RECORDED, .selects = 2,
	  .without = "pick=two" },
	{ OPT_LIST, 'l', "list", "STR", "texts", AT(list), .modes = 1, .with = "n pick=three" },
	{ OPT_PICK, 'o', "pick", "one|two|three", "one of three", AT(pick) },
	{ OPT_LAST, 'h', "help", NULL, "the end", AT(stop), .value = 1 },
	{ OPT_END }
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { MOST = 64 };
	char *text = malloc(size + 1), *argv[MOST + 1] = { (char[]){ "fuzz" } };
	struct values v = { .num = 0.5, .size = 1 };
	struct opt_rest rest;
	infer_error err = { 0 };
	int argc = 1;

	must(text);
	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	for (size_t i = 0; i < size && argc < MOST; i += strlen(text + i) + 1)
		argv[argc++] = text + i;
	opt_rest_init(&rest);
	int rc = opt_parse(rows, &v, argc, argv, &rest, &err);

	must(rc == err.code);
	must(!rc || *err.message);
	must(!strchr(err.message, '\n') || memchr(data, '\n', size));
	must(v.whole >= -5 && v.whole <= 1000 && v.num > 0 && v.num <= 1 && v.size >= 1);
	must(v.pick >= 0 && v.pick < 3 && (!v.flag || v.flag == 7) && v.list.n < MOST);
	must(!v.str || *v.str);
	for (int i = 0; i < v.list.n; i++)
		must(*v.list.at[i]);
	for (int i = 0; i < rest.record.n; i++)
		must(!strncmp(rest.record.at[i], "--", 2));
	must(rc || (rest.n_words >= 0 && rest.n_words < argc));
	const struct opt_modes modes = { 0 };

	must(rc || !opt_check(rows, &v, &rest, &modes, &err) ||
	     strstr(err.message, " goes with ") || strstr(err.message, " does not go with "));
	opt_rest_fini(&rest);
	free(text);
	return 0;
}
