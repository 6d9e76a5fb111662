/* tok/pretok.c - look up and run pre-tokenizers. */
#include "tok/pretok.h"
#include "base/err.h"
#include "base/mem.h"
#include "text/unicode.h"

#include <string.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include "tok/pretok_list.h"

struct pretok_code {
	const struct pretok *p;
	enum pretok_with with;
	int n, n_re;
	pcre2_code *re[PRETOK_STAGES]; /* NULL: the stage has a scanner */
	uint64_t ascii[PRETOK_STAGES][2];
	pcre2_general_context *heap; /* allocates with base/mem.h */
};

struct run {
	const struct pretok_code *c;
	const char *subject, *text; /* subject: text, or a copy that is valid UTF-8 */
	pcre2_match_data *match;
	pcre2_match_context *limits; /* limits of PRETOK_FOREIGN; else NULL */
	size_t from;                 /* offset of the previous callout */
	size_t left;                 /* steps left before matching is stopped */
	pretok_fn *fn;
	void *user;
	infer_error *err;
};
/* Limit of steps with PRETOK_FOREIGN: FREE_STEPS + BYTE_STEPS per byte of text.  A step is an item
 * of the expression that is tried, or a byte that an item consumes.  Common expressions need 20 to
 * 100 per byte.  PCRE2's own limits apply to each match, and ignore repeats of a character. */
enum { FREE_STEPS = 1000000, BYTE_STEPS = 1000 };

const struct pretok *pretok_at(size_t i)
{
	return i < sizeof pretok_list / sizeof *pretok_list ? &pretok_list[i] : NULL;
}

const struct pretok *pretok_find(const char *name, size_t n)
{
	const struct pretok *p;

	for (size_t i = 0; (p = pretok_at(i)); i++)
		for (const char *at = p->names; *at;
		     at += at[strcspn(at, " ")] ? strcspn(at, " ") + 1 : strcspn(at, " "))
			if (n && strcspn(at, " ") == n && !memcmp(at, name, n))
				return p;
	return NULL;
}

static void *heap_alloc(size_t n, void *user)
{
	(void)user;
	return mem_alloc(MEM_TOK, n, 1);
}

static void heap_free(void *p, void *user)
{
	(void)user;
	mem_free(p);
}

static int compile_stage(struct pretok_code *c, int i, infer_error *err)
{
	const struct pretok_stage *st = &c->p->stage[i];
	pcre2_compile_context *ctx = pcre2_compile_context_create(c->heap);
	PCRE2_SIZE at;
	int code;

	if (!ctx)
		return err_set(err, INFER_ENOMEM, "pre-tokenizer %s: no memory", c->p->names);
	c->re[i] = pcre2_compile(
		(PCRE2_SPTR)st->pattern, PCRE2_ZERO_TERMINATED,
		PCRE2_UTF | PCRE2_DOLLAR_ENDONLY |
			(c->with != PRETOK_WITH_SCANNERS ? PCRE2_UCP : 0) |
			(c->with == PRETOK_FOREIGN ? PCRE2_MULTILINE | PCRE2_AUTO_CALLOUT : 0),
		&code, &at, ctx);
	pcre2_compile_context_free(ctx);
	if (c->re[i]) {
		c->n_re++;
		return INFER_OK;
	}
	if (c->with == PRETOK_FOREIGN && code != PCRE2_ERROR_HEAP_FAILED) {
		char why[120];
		pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
		return err_set(err, INFER_EUNSUP, "%s: %s", c->p->names, why);
	}
	must(code == PCRE2_ERROR_HEAP_FAILED); /* otherwise the listed expression is invalid */
	return err_set(err, INFER_ENOMEM, "pre-tokenizer %s: no memory", c->p->names);
}

int pretok_new(struct pretok_code **out, const struct pretok *p, enum pretok_with with,
               infer_error *err)
{
	struct pretok_code *c = mem_zalloc(MEM_TOK, 1, sizeof *c);
	int rc = INFER_OK;

	*out = NULL;
	if (!c)
		return err_set(err, INFER_ENOMEM, "pre-tokenizer %s: no memory", p->names);
	c->p = p;
	c->with = with;
	c->heap = pcre2_general_context_create(heap_alloc, heap_free, NULL);
	if (!c->heap)
		rc = err_set(err, INFER_ENOMEM, "pre-tokenizer %s: no memory", p->names);
	for (; !rc && c->n < PRETOK_STAGES && p->stage[c->n].pattern; c->n++) {
		for (uint32_t cp = 0; p->stage[c->n].of && cp < 128; cp++)
			c->ascii[c->n][cp / 64] |= (uint64_t)pretok_in_class(p->stage[c->n].of, cp)
			                           << cp % 64;
		if (with != PRETOK_WITH_SCANNERS || !p->stage[c->n].scan)
			rc = compile_stage(c, c->n, err);
	}
	if (rc)
		pretok_free(c);
	else
		*out = c;
	return rc;
}

void pretok_free(struct pretok_code *c)
{
	if (!c)
		return;
	for (int i = 0; i < PRETOK_STAGES; i++)
		pcre2_code_free(c->re[i]);
	pcre2_general_context_free(c->heap);
	mem_free(c);
}

static int run_stage(struct run *r, int k, const char *s, size_t n);

static int run_scanner(struct run *r, int k, const char *s, size_t n)
{
	const struct pretok_stage *st = &r->c->p->stage[k];
	struct pretok_it it = { .s = s, .n = n, .ascii = r->c->ascii[k] };
	size_t done = 0;

	while (st->scan(st, &it)) {
		TRY(run_stage(r, k + 1, s + done, it.from - done));
		TRY(run_stage(r, k + 1, s + it.from, it.to - it.from));
		done = it.to;
	}
	return run_stage(r, k + 1, s + done, n - done);
}

static int run_pcre2(struct run *r, int k, const char *s, size_t n)
{
	const PCRE2_SIZE *v = pcre2_get_ovector_pointer(r->match);
	size_t done = 0, at = 0;

	while (at <= n) {
		int rc = pcre2_match(r->c->re[k], (PCRE2_SPTR)s, n, at, PCRE2_NO_UTF_CHECK,
		                     r->match, r->limits);
		if (rc == PCRE2_ERROR_NOMATCH)
			break;
		if (rc == PCRE2_ERROR_NOMEMORY)
			return err_set(r->err, INFER_ENOMEM, "pre-tokenizer %s: no memory to match",
			               r->c->p->names);
		if (rc < 0)
			return err_set(r->err, INFER_EUNSUP,
			               "pre-tokenizer %s: PCRE2 reached a limit (%d) at byte %zu "
			               "of the text",
			               r->c->p->names, rc, (size_t)(s - r->subject) + at);
		size_t from = v[0], to = v[1]; /* copied: later stages overwrite the match data */
		TRY(run_stage(r, k + 1, s + done, from - done));
		TRY(run_stage(r, k + 1, s + from, to - from));
		done = at = to;
		/* cut at an empty match, and resume one code point later */
		if (from == to)
			for (at++; at < n && (s[at] & 0xC0) == 0x80; at++)
				;
	}
	return run_stage(r, k + 1, s + done, n - done);
}

static int run_stage(struct run *r, int k, const char *s, size_t n)
{
	if (!n)
		return INFER_OK;
	if (k == r->c->n)
		return r->fn(r->user, r->text + (s - r->subject), n, r->err);
	return r->c->re[k] ? run_pcre2(r, k, s, n) : run_scanner(r, k, s, n);
}

/* Copy s with U+0001 for each byte that is not valid UTF-8. */
static char *copy_wellformed(const char *s, size_t n)
{
	char *copy = mem_strndup(MEM_TOK, s, n);

	for (size_t at = 0; copy && at < n; at++) {
		at += utf8_check(s + at, n - at);
		if (at < n)
			copy[at] = 1;
	}
	return copy;
}

/* Count a step of PCRE2.  Returns an error if there are too many. */
static int count_step(pcre2_callout_block *b, void *user)
{
	struct run *r = user;
	size_t at = b->current_position, moved = at > r->from ? at - r->from : r->from - at;

	r->from = at;
	if (r->left <= moved)
		return PCRE2_ERROR_MATCHLIMIT;
	r->left -= moved + 1;
	return 0;
}

static int set_limits(struct run *r, size_t n)
{
	r->left = FREE_STEPS + n * BYTE_STEPS;
	if (r->c->with != PRETOK_FOREIGN)
		return INFER_OK;
	r->limits = pcre2_match_context_create(r->c->heap);
	if (!r->limits)
		return INFER_ENOMEM;
	pcre2_set_callout(r->limits, count_step, r);
	return INFER_OK;
}

static void end_run(struct run *r, char *copy)
{
	pcre2_match_context_free(r->limits);
	pcre2_match_data_free(r->match);
	mem_free(copy);
}

/* Prepare r, whose c, text and err are set, for a text of n bytes.  Free *copy at the end. */
static int begin_run(struct run *r, size_t n, char **copy)
{
	r->subject = r->text;
	*copy = NULL;
	if (!r->c->n_re)
		return INFER_OK;
	if (utf8_check(r->text, n) < n && !(r->subject = *copy = copy_wellformed(r->text, n)))
		return err_set(r->err, INFER_ENOMEM, "no memory for %zu bytes of text", n);
	r->match = pcre2_match_data_create(1, r->c->heap);
	if (r->match && !set_limits(r, n))
		return INFER_OK;
	end_run(r, *copy);
	return err_set(r->err, INFER_ENOMEM, "pre-tokenizer: no memory to match");
}

int pretok_run(const struct pretok_code *c, const char *s, size_t n, pretok_fn *fn, void *user,
               infer_error *err)
{
	struct run r = { .c = c, .text = s, .fn = fn, .user = user, .err = err };
	char *copy;

	TRY(begin_run(&r, n, &copy));
	int rc = run_stage(&r, 0, r.subject, n);
	end_run(&r, copy);
	return rc;
}

/* Find the next match of stage 0 from `at` on.  Returns 1, 0 (none), or a negative code of
 * PCRE2. */
static int next_match(struct run *r, struct pretok_it *it, size_t at, size_t *from, size_t *to)
{
	if (!r->c->re[0]) {
		int found = r->c->p->stage->scan(r->c->p->stage, it);
		*from = it->from;
		*to = it->to;
		return found;
	}
	int rc = pcre2_match(r->c->re[0], (PCRE2_SPTR)r->subject, it->n, at, PCRE2_NO_UTF_CHECK,
	                     r->match, r->limits);
	const PCRE2_SIZE *v = pcre2_get_ovector_pointer(r->match);
	*from = v[0];
	*to = v[1];
	return rc == PCRE2_ERROR_NOMATCH ? 0 : rc < 0 ? rc : 1;
}

int pretok_each(const struct pretok_code *c, const char *s, size_t n, pretok_match *fn, void *user,
                infer_error *err)
{
	struct run r = { .c = c, .text = s, .err = err };
	size_t at = 0, from, to;
	char *copy;
	int rc, found;

	TRY(begin_run(&r, n, &copy));
	struct pretok_it it = { .s = r.subject, .n = n, .ascii = c->ascii[0] };
	for (rc = INFER_OK; !rc && at <= n && (found = next_match(&r, &it, at, &from, &to));
	     at = to) {
		if (found < 0) {
			rc = err_set(err,
			             found == PCRE2_ERROR_NOMEMORY ? INFER_ENOMEM : INFER_EUNSUP,
			             "%s: PCRE2 reached a limit (%d) at byte %zu of the text",
			             c->p->names, found, at);
			break;
		}
		rc = fn(user, from, to, err);
		/* after an empty match, the search resumes one code point later */
		if (from == to)
			for (to++; to < n && (r.subject[to] & 0xC0) == 0x80; to++)
				;
	}
	end_run(&r, copy);
	return rc;
}
