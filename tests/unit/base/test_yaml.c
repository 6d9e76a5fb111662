/* tests/unit/base/test_yaml.c - a document becomes a tree with places; what is hostile or means more
 * than lists, maps and scalars is refused with line and column. */
#include "../nth.h"
#include "base/yaml.h"

#include <stdio.h>
#include <string.h>

static int read_text(struct ytree **out, struct arena *a, const char *text, infer_error *err)
{
	return ytree_read(out, a, text, strlen(text), "doc", err);
}

static int case_tree(void)
{
	static const char text[] = "%YAML 1.1\n---\n# a comment\nname: 'it''s'\nlist:\n"
				   "  - 12\n  - [a, {b: c}]\nempty:\n\xc3\xa9: \"x\\ty\"\n";
	const struct ytree *y, *l;
	struct ytree *root;
	struct arena a;
	int rc;

	arena_init(&a, MEM_BASE);
	nth_ok(read_text(&root, &a, text, NULL));
	assert_int_equal(root->kind, YTREE_MAP);
	assert_int_equal(root->n, 4);
	assert_int_equal(root->line, 4);
	y = ytree_get(root, "name");
	assert_true(ytree_is(y, "it's"));
	assert_false(y->plain);
	assert_int_equal(y->line, 4);
	assert_int_equal(y->column, 7);
	assert_int_equal(y->key->column, 1);
	l = ytree_get(root, "list");
	assert_int_equal(l->kind, YTREE_LIST);
	assert_int_equal(l->n, 2);
	assert_true(ytree_is(l->first, "12"));
	assert_true(l->first->plain);
	assert_int_equal(l->first->line, 6);
	assert_int_equal(l->first->column, 5);
	assert_true(ytree_is(ytree_get(l->last->last, "b"), "c"));
	assert_int_equal(l->last->last->column, 9);
	assert_int_equal(ytree_get(root, "empty")->n, 0);
	assert_true(ytree_is(ytree_get(root, "\xc3\xa9"), "x\ty"));
	assert_int_equal(ytree_get(root, "\xc3\xa9")->column, 4);
	assert_null(ytree_get(root, "nam"));
	nth_ok(read_text(&root, &a, "# nothing\n", NULL));
	assert_null(root);
out:
	arena_fini(&a);
	return rc;
}

static int case_values(void)
{
	static const char text[] = "[7, -1, 1.5, '7', 18446744073709551615, 1e3, '', [], 0x10, 07]";
	const struct ytree *v[10];
	struct ytree *root;
	const char *s = NULL;
	infer_error err;
	struct arena a;
	uint64_t u = 0;
	double d = 0;
	int rc;

	arena_init(&a, MEM_BASE);
	nth_ok(read_text(&root, &a, text, NULL));
	assert_int_equal(root->n, 10);
	v[0] = root->first;
	for (int i = 1; i < 10; i++)
		v[i] = v[i - 1]->next;
	assert_int_equal(ytree_u64(&u, v[0], 0, 9, "doc", NULL), INFER_OK);
	assert_int_equal(u, 7);
	assert_int_equal(ytree_u64(&u, v[0], 8, 9, "doc", &err), INFER_EFORMAT);
	assert_string_equal(err.message, "doc: line 1, column 2: 7 is not between 8 and 9");
	assert_int_equal(ytree_u64(&u, v[1], 0, 9, "doc", NULL), INFER_EFORMAT);
	assert_int_equal(ytree_u64(&u, v[2], 0, 9, "doc", NULL), INFER_EFORMAT);
	assert_int_equal(ytree_u64(&u, v[3], 0, 9, "doc", &err), INFER_EFORMAT);
	assert_string_equal(err.message, "doc: line 1, column 14: not a whole number");
	assert_int_equal(ytree_u64(&u, v[4], 0, UINT64_MAX, "doc", NULL), INFER_OK);
	assert_true(u == UINT64_MAX);
	assert_int_equal(ytree_u64(&u, v[8], 0, 99, "doc", NULL), INFER_EFORMAT);
	assert_int_equal(ytree_u64(&u, v[9], 0, 99, "doc", NULL), INFER_EFORMAT);
	assert_int_equal(ytree_f64(&d, v[1], -2, 9, "doc", NULL), INFER_OK);
	assert_true(d == -1);
	assert_int_equal(ytree_f64(&d, v[5], 0, 1e4, "doc", NULL), INFER_OK);
	assert_true(d == 1000);
	assert_int_equal(ytree_f64(&d, v[5], 0, 1, "doc", NULL), INFER_EFORMAT);
	assert_int_equal(ytree_f64(&d, v[7], 0, 1, "doc", NULL), INFER_EFORMAT);
	assert_int_equal(ytree_text(&s, v[3], "doc", NULL), INFER_OK);
	assert_string_equal(s, "7");
	assert_int_equal(ytree_text(&s, v[6], "doc", NULL), INFER_EFORMAT);
	assert_int_equal(ytree_text(&s, v[7], "doc", NULL), INFER_EFORMAT);
	assert_int_equal(ytree_map(v[7], "doc", NULL), INFER_EFORMAT);
	assert_int_equal(ytree_list(v[7], "doc", NULL), INFER_OK);
	assert_int_equal(ytree_list(v[0], "doc", NULL), INFER_EFORMAT);
out:
	arena_fini(&a);
	return rc;
}

static void refused(const char *text, const char *want)
{
	struct ytree *root = (struct ytree *)(size_t)1;
	infer_error err = { 0 };
	struct arena a;

	arena_init(&a, MEM_BASE);
	assert_int_equal(read_text(&root, &a, text, &err), INFER_EFORMAT);
	assert_null(root);
	if (strncmp(err.message, want, strlen(want)))
		fail_msg("'%s' is refused with '%s'", text, err.message);
	assert_null(strchr(err.message, '\n'));
	/* without a place for the message too */
	assert_int_equal(read_text(&root, &a, text, NULL), INFER_EFORMAT);
	arena_fini(&a);
}

static void test_refused(void **state)
{
	(void)state;
	refused("a: 1\nb: 2\na: 3\n", "doc: line 3, column 1: the key 'a' is there twice");
	refused("a: &x 1\n", "doc: line 1, column 4: anchors");
	refused("a: &x [1]\nb: *x\n", "doc: line 1, column 4: anchors");
	refused("b: *x\n", "doc: line 1, column 4: aliases");
	refused("a: !!binary eA==\n", "doc: line 1, column 4: tags");
	refused("a: !x {}\n", "doc: line 1, column 4: tags");
	refused("%TAG !e! tag:e,2000:\n---\na: 1\n", "doc: line 1, column 1: tags");
	refused("a: 1\n---\nb: 2\n", "doc: line 2, column 1: a second document");
	refused("? [a]\n: 1\n", "doc: line 1, column 3: a key is a list or a map");
	refused("a:\n\tb: 1\n", "doc: line 2, column 1: found character that cannot start");
	refused("a: [1, 2\nb: 3\n", "doc: line 2, column 2: ");
	refused("a: 'x\n", "doc: line 2, column 1: found unexpected end of stream");
	refused("a: \"\\0\"\n", "doc: line 1, column 4: a text has a zero byte");
	refused("a: 1\nb: \xc3(\n", "doc: line 2, column 4: not UTF-8");
	refused("a: \x01\n", "doc: line 1, column 4: control characters");
	refused("%YAML 3.0\n---\na\n", "doc: line 1, column 1: found incompatible");
	refused("a: 1\n b: 2\n", "doc: line 2, column 3: mapping values are not allowed");
}

static void test_twice_in_a_large_map(void **state)
{
	char text[2000];
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "k%d: 1\n", i);
	snprintf(text + n, sizeof text - n, "k50: 1\n");
	refused(text, "doc: line 101, column 1: the key 'k50' is there twice");
}

static void test_limits(void **state)
{
	static char text[YTREE_BYTES + 8];
	infer_error err = { 0 };
	struct ytree *root;
	struct arena a;

	(void)state;
	arena_init(&a, MEM_BASE);
	memset(text, '[', YTREE_DEPTH);
	memset(text + YTREE_DEPTH, ']', YTREE_DEPTH);
	assert_int_equal(ytree_read(&root, &a, text, 2 * (size_t)YTREE_DEPTH, "doc", &err),
	                 INFER_OK);
	memset(text, '[', 5000);
	assert_int_equal(ytree_read(&root, &a, text, 5000, "doc", &err), INFER_EFORMAT);
	assert_string_equal(err.message,
	                    "doc: line 1, column 65: lists and maps are nested too deeply");
	text[0] = '[';
	for (size_t i = 1; i < YTREE_BYTES; i += 2)
		memcpy(text + i, "a,", 2);
	assert_int_equal(ytree_read(&root, &a, text, YTREE_BYTES, "doc", &err), INFER_EFORMAT);
	assert_non_null(strstr(err.message, "too many nodes"));
	assert_int_equal(ytree_read(&root, &a, text, YTREE_BYTES + 1, "doc", &err), INFER_EFORMAT);
	assert_string_equal(err.message, "doc: 4194305 bytes, of at most 4194304");
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_tree),
		nth_case(case_values),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_twice_in_a_large_map),
		cmocka_unit_test(test_limits),
	};

	return nth_group(tests);
}
