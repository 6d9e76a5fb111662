/* tests/unit/mask/test_near.c - masks near a counted limit of a string's length are what following each
 * token alone says, and cost no more than others. */
#include "../nth.h"
#include <string.h>
#include "grammar/grammar.h"
#include "mask/mask.h"
#include "mask_cases.h"

enum { SMALL = 900, LARGE = 20000, FIRST = 240, LAST = 345 };

static const struct budget most = { 1 << 24, 1 << 26 };

static const char *const schemas[] = {
	"{'type':'string','maxLength':5000}",
	"{'type':'string','minLength':300}",
	"{'type':'string','minLength':300,'maxLength':340}",
	"{'type':'string','minLength':300,'maxLength':300}",
	"{'type':'string','minLength':290,'pattern':'^a[ab1 ]*$'}",
	/* states from which the end is far, or near */
	"{'type':'string','pattern':'^(?:[a-f ]{330}|[0-9]{149}x)?[ab ]*$','maxLength':335}",
	"{'type':'string','minLength':280,'pattern':'^(?:a{290}|[ab\\u00e9]{250}b|a*)$'}",
	"{'type':'string','minLength':280,'maxLength':320,'pattern':'^[^1]*$'}",
	"{'type':['integer','string'],'not':{'maxLength':299},'pattern':'a$'}",
};
enum { N_SCHEMAS = sizeof schemas / sizeof *schemas };

struct set {
	uint32_t n;
	struct vocab_token *token;
	char (*bytes)[MASK_BYTES];
	struct vocab *vocab;
};

static void set_make(struct set *s, uint32_t n)
{
	s->n = n;
	s->token = calloc(n, sizeof *s->token);
	s->bytes = calloc(n, sizeof *s->bytes);
	mask_vocabulary(s->token, s->bytes, n, 7);
	assert_int_equal(vocab_new(&s->vocab, s->token, n, NULL), INFER_OK);
}

static void set_free(struct set *s)
{
	vocab_free(s->vocab);
	free(s->token);
	free(s->bytes);
}

static int takes(struct match *m, const struct match_state *at, const struct vocab_token *t)
{
	struct match_state try = { 0 };
	int yes;

	assert_int_equal(match_copy(m, &try, at, NULL), INFER_OK);
	for (uint32_t i = 0; i < t->n && match_live(&try); i++)
		assert_int_equal(match_byte(m, &try, (uint8_t)t->at[i], NULL), INFER_OK);
	yes = t->n && match_live(&try);
	match_drop(m, &try);
	return yes;
}

/* Compare the mask after n characters and `then`. */
static void compare(const struct set *s, struct mask *k, struct match *m,
                    const struct match_state *from, const char *then, const char *where)
{
	struct budget left = { 1 << 24, 1 << 24 };
	uint64_t bits[LARGE / 64 + 1];
	struct match_state at = { 0 };

	assert_int_equal(match_copy(m, &at, from, NULL), INFER_OK);
	for (const char *b = then; *b && match_live(&at); b++)
		assert_int_equal(match_byte(m, &at, (uint8_t)*b, NULL), INFER_OK);
	assert_int_equal(mask_fill(k, m, &at, bits, &left, NULL), INFER_OK);
	for (uint32_t id = 0; id < s->n; id++)
		if ((int)(bits[id / 64] >> id % 64 & 1) != takes(m, &at, s->token + id))
			fail_msg("%s%s: token %u, %.*s: the mask says %d", where, then, id,
			         (int)s->token[id].n, s->token[id].at,
			         (int)(bits[id / 64] >> id % 64 & 1));
	match_drop(m, &at);
}

static void follow_schema(const struct set *s, const char *schema)
{
	static const char *const then[] = { "", "\\", "\\u00", "\xc3", "\\ud83d", "\xf0\x9f" };
	struct match_state at = { 0 };
	char where[256];
	struct grammar *g;
	struct match *m;
	struct mask *k;

	assert_int_equal(mask_case(&g, schema), INFER_OK);
	assert_int_equal(match_new(&m, g, MATCH_ANY, &most, NULL), INFER_OK);
	assert_int_equal(mask_new(&k, g, s->vocab, MATCH_ANY, &most, NULL), INFER_OK);
	assert_int_equal(match_begin(m, &at, NULL), INFER_OK);
	assert_int_equal(match_byte(m, &at, '"', NULL), INFER_OK);
	for (uint32_t n = 0; n < LAST && match_live(&at); n++) {
		snprintf(where, sizeof where, "%s, %u characters: ", schema, n);
		for (size_t i = 0; n >= FIRST && i < (n % 5 ? 1 : sizeof then / sizeof *then); i++)
			compare(s, k, m, &at, then[i], where);
		assert_int_equal(match_byte(m, &at, 'a', NULL), INFER_OK);
	}
	match_drop(m, &at);
	mask_free(k);
	match_free(m);
	ir_free(g);
}

static void test_near(void **state)
{
	struct set s;

	(void)state;
	set_make(&s, SMALL);
	for (size_t i = 0; i < N_SCHEMAS; i++)
		follow_schema(&s, schemas[i]);
	set_free(&s);
}

/* Return the most steps of a mask after one of these many characters. */
static uint64_t count_steps(const struct set *s, const char *schema, uint32_t from, uint32_t to)
{
	uint64_t bits[LARGE / 64 + 1], worst = 0;
	struct match_state at = { 0 };
	struct grammar *g;
	struct match *m;
	struct mask *k;

	assert_int_equal(mask_case(&g, schema), INFER_OK);
	assert_int_equal(match_new(&m, g, MATCH_ANY, &most, NULL), INFER_OK);
	assert_int_equal(mask_new(&k, g, s->vocab, MATCH_ANY, &most, NULL), INFER_OK);
	assert_int_equal(match_begin(m, &at, NULL), INFER_OK);
	assert_int_equal(match_byte(m, &at, '"', NULL), INFER_OK);
	for (uint32_t n = 0; n < to; n++) {
		struct budget left = { 1 << 24, 1 << 24 };

		assert_int_equal(match_byte(m, &at, 'a', NULL), INFER_OK);
		assert_int_equal(mask_fill(k, m, &at, bits, &left, NULL), INFER_OK);
		if (n >= from && (1 << 24) - left.steps > worst)
			worst = (1 << 24) - left.steps;
	}
	match_drop(m, &at);
	mask_free(k);
	match_free(m);
	ir_free(g);
	return worst;
}

/* Near a limit, as far from it, tokens of plain characters are decided by their length. */
static void test_steps(void **state)
{
	struct set s;
	uint64_t far;

	(void)state;
	set_make(&s, LARGE);
	far = count_steps(&s, "{'type':'string'}", 0, 30);
	assert_in_range(count_steps(&s, "{'type':'string','maxLength':5000}", 4955, 5000), 1,
	                2 * far);
	assert_in_range(count_steps(&s, "{'type':'string','minLength':300}", 255, 310), 1, 2 * far);
	set_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_near),
		                            cmocka_unit_test(test_steps) };

	return nth_group(tests);
}
