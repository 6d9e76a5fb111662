/* infer-inspect/grammar.c - a constraint: its size, whether texts satisfy it, random texts that
 * do. */
#include "inspect.h"
#include "common/confine.h"
#include "common/file.h"
#include "common/say.h"
#include <infer/grammar.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"

#include <string.h>

enum { MOST = 64 << 20 };

struct look {
	const struct inspect_opts *o;
	const char *name; /* path of the file; NULL: the argument is the constraint itself */
	struct infer_grammar_source source;
	struct buf text, *checks; /* checks: [o->checks.n] */
	infer_grammar *g; /* as the schema is written if texts are checked, else as it generates */
	infer_grammar *generates; /* what samples are of; == g unless texts are checked */
	double compile_ms;
};

static int ends_with(const char *s, const char *end)
{
	const size_t n = strlen(s), k = strlen(end);

	return n >= k && !strcmp(s + n - k, end);
}

/* Guess the form of a constraint from its file name, else from its text. */
static int guess_form(const char *name, const char *text, size_t n)
{
	size_t i = 0;

	if (ends_with(name, ".json") || ends_with(name, ".schema"))
		return INFER_GRAMMAR_SCHEMA;
	if (ends_with(name, ".gbnf") || ends_with(name, ".lark"))
		return INFER_GRAMMAR_RULES;
	if (ends_with(name, ".regex") || ends_with(name, ".re"))
		return INFER_GRAMMAR_REGEX;
	while (i < n && strchr(" \t\r\n", text[i]) && text[i])
		i++;
	if (i < n && text[i] == '{')
		return INFER_GRAMMAR_SCHEMA;
	return memmem(text, n, "::=", 3) || memmem(text, n, "start:", 6) ? INFER_GRAMMAR_RULES
	                                                                 : INFER_GRAMMAR_REGEX;
}

static int read_all(struct look *l, const struct opt_rest *words, infer_error *err)
{
	/* form of each value of --as, without 0 (auto) */
	static const int forms[] = { INFER_GRAMMAR_SCHEMA, INFER_GRAMMAR_RULES, INFER_GRAMMAR_REGEX,
		                     INFER_GRAMMAR_RULES };
	const struct inspect_opts *o = l->o;

	const char *path = words->n_words == 1 ? words->words[0] : "";

	if (words->n_words != 1)
		return err_set(err, INFER_EINVAL,
		               "grammar takes one file, or the text of a schema");
	if (o->annotate && o->strict_formats)
		return err_set(err, INFER_EINVAL,
		               "--format-annotation and --strict-formats exclude each other");
	TRY(confine(CONFINE_TRY, SANDBOX_READ, err));
	if (path[strspn(path, " \t\r\n")] == '{') {
		buf_puts(&l->text, path);
		l->source.form = INFER_GRAMMAR_SCHEMA;
	} else {
		l->name = path;
		TRY(file_read(&l->text, strcmp(path, "-") ? path : "/dev/stdin", MOST, err));
		l->source.form = guess_form(path, l->text.at, l->text.len);
	}
	if (o->as)
		l->source.form = forms[o->as - 1];
	/* the line break at the end is not part of a regular expression */
	if (l->source.form == INFER_GRAMMAR_REGEX && l->text.len &&
	    l->text.at[l->text.len - 1] == '\n')
		l->text.len--;
	l->source.text = (struct infer_str){ l->text.at, l->text.len };
	for (int i = 0; i < o->checks.n; i++)
		TRY(file_read(l->checks + i, o->checks.at[i], MOST, err));
	return confine(CONFINE_TRY, 0, err);
}

static int compile(struct look *l, infer_error *err)
{
	const struct inspect_opts *o = l->o;
	const int64_t from = clock_thread_ns();
	const char *at;

	l->source.flags = (o->checks.n ? INFER_GRAMMAR_AS_WRITTEN : 0u) |
	                  (o->lax ? INFER_GRAMMAR_LAX : 0u) |
	                  (o->annotate ? INFER_GRAMMAR_ANNOTATE : 0u) |
	                  (o->strict_formats ? INFER_GRAMMAR_STRICT_FORMATS : 0u);
	l->source.budget = (uint64_t)o->budget;
	TRY(infer_grammar_compile(&l->g, &l->source, NULL, err));
	l->compile_ms = clock_ms(from, clock_thread_ns());
	l->source.flags &= ~(uint32_t)INFER_GRAMMAR_AS_WRITTEN;
	if (o->checks.n && o->samples)
		TRY(infer_grammar_compile(&l->generates, &l->source, NULL, err));
	else
		l->generates = infer_grammar_share(l->g);
	for (size_t i = 0; (at = infer_grammar_ignored(l->g, i)); i++)
		say_warning("%s is ignored", at);
	for (size_t i = 0; (at = infer_grammar_annotation(l->g, i)); i++)
		say_note(1, "%s is an annotation", at);
	return INFER_OK;
}

static void put_size_text(const struct look *l, struct buf *out)
{
	struct infer_grammar_size s;

	infer_grammar_size(l->g, &s);
	buf_printf(out, "form      %s\nbytes     ", infer_grammar_kind(l->g));
	put_bytes(out, s.bytes);
	buf_printf(out, "\ncompiled  %.3g ms, %llu steps\n", l->compile_ms,
	           (unsigned long long)s.steps);
	if (s.goals)
		buf_printf(out, "goals     %llu\n", (unsigned long long)s.goals);
	if (s.rule_codes)
		buf_printf(out, "rules     %llu instructions\n", (unsigned long long)s.rule_codes);
	buf_printf(out, "automata  %llu, with %llu states\n", (unsigned long long)s.automata,
	           (unsigned long long)s.states);
}

static void put_size_json(const struct look *l, struct jwrite *w)
{
	struct infer_grammar_size s;
	const char *at;

	infer_grammar_size(l->g, &s);
	if (l->name)
		jw_str(w, "name", l->name);
	else
		jw_null(w, "name");
	jw_str(w, "form", infer_grammar_kind(l->g));
	jw_str(w, "sha256", infer_grammar_sha256(l->g));
	jw_uint(w, "bytes", s.bytes);
	jw_num(w, "compile_ms", l->compile_ms);
	jw_uint(w, "steps", s.steps);
	jw_uint(w, "goals", s.goals);
	jw_uint(w, "rule_codes", s.rule_codes);
	jw_uint(w, "automata", s.automata);
	jw_uint(w, "states", s.states);
	jw_array(w, "ignored");
	for (size_t i = 0; (at = infer_grammar_ignored(l->g, i)); i++)
		jw_str(w, NULL, at);
	jw_end(w);
	jw_array(w, "annotations");
	for (size_t i = 0; (at = infer_grammar_annotation(l->g, i)); i++)
		jw_str(w, NULL, at);
	jw_end(w);
}

/* Check text i, and report the result to w, or as a line to `out` if w is NULL.  Sets *differs
 * if the text does not satisfy the constraint. */
static int check_one(const struct look *l, int i, struct buf *out, struct jwrite *w, int *differs,
                     infer_error *err)
{
	const struct buf *b = l->checks + i;
	const char *name = l->o->checks.at[i];
	unsigned long long line = 1;
	int accepted;
	size_t at;

	TRY(infer_grammar_check(l->g, b->at, b->len, &accepted, &at, err));
	*differs |= !accepted;
	for (size_t k = 0; k < at; k++)
		line += b->at[k] == '\n';
	if (w) {
		jw_object(w, NULL);
		jw_str(w, "name", name);
		jw_bool(w, "accepted", accepted);
		if (!accepted) {
			jw_uint(w, "line", line);
			jw_uint(w, "byte", at + 1);
		}
		jw_end(w);
		return INFER_OK;
	}
	put_plain(out, (struct infer_str){ name, strlen(name) }, SIZE_MAX);
	if (accepted)
		buf_puts(out, ": accepted\n");
	else
		buf_printf(out, ": not accepted: line %llu, byte %llu%s\n", line,
		           (unsigned long long)at + 1,
		           at == b->len ? ": something is missing at the end" : "");
	return INFER_OK;
}

static int sample_one(const struct look *l, uint64_t seed, uint64_t i, struct buf *out,
                      struct jwrite *w, infer_error *err)
{
	enum { LONGEST = 400 };
	struct buf text;
	int rc;

	buf_init(&text, MEM_BASE);
	rc = infer_grammar_sample(l->generates, seed, i, (uint32_t)(rng_unit(seed, i) * LONGEST),
	                          &text, err);
	if (!rc && w) {
		jw_strn(w, NULL, text.at, text.len);
	} else if (!rc) {
		buf_put(out, text.at, text.len);
		buf_putc(out, '\n');
	}
	buf_fini(&text);
	return rc;
}

static int put_grammar(const struct look *l, struct buf *out, int *differs, infer_error *err)
{
	const struct inspect_opts *o = l->o;
	uint64_t seed = (uint64_t)o->seed.value;
	struct jwrite at, *w = o->json ? &at : NULL;
	int rc = INFER_OK;

	if (o->samples && !o->seed.given)
		TRY(rng_system(&seed, err));
	if (w) {
		infer_record_open(w, out, INFER_KIND_GRAMMAR, INFER_RECORD_FIRST);
		put_size_json(l, w);
		jw_array(w, "checks");
	} else if (!o->samples && !o->checks.n) {
		put_size_text(l, out);
	}
	for (int i = 0; i < o->checks.n && !rc; i++)
		rc = check_one(l, i, out, w, differs, err);
	if (w) {
		jw_end(w);
		jw_array(w, "samples");
	}
	for (int64_t i = 0; i < o->samples && !rc; i++)
		rc = sample_one(l, seed, (uint64_t)i, out, w, err);
	if (w) {
		jw_end(w);
		infer_record_close(w);
	}
	return rc;
}

int grammar(struct buf *out, const struct inspect_opts *o, const struct opt_rest *words,
            int *differs, infer_error *err)
{
	struct look l = { .o = o };
	int rc = INFER_OK;

	buf_init(&l.text, MEM_BASE);
	if (o->checks.n)
		l.checks = mem_zalloc(MEM_BASE, (size_t)o->checks.n, sizeof *l.checks);
	if (o->checks.n && !l.checks)
		return err_set(err, INFER_ENOMEM, "out of memory for %d files", o->checks.n);
	for (int i = 0; i < o->checks.n; i++)
		buf_init(l.checks + i, MEM_BASE);
	rc = read_all(&l, words, err);
	if (!rc)
		rc = compile(&l, err);
	if (!rc)
		rc = put_grammar(&l, out, differs, err);
	infer_grammar_free(l.g);
	infer_grammar_free(l.generates);
	for (int i = 0; i < o->checks.n; i++)
		buf_fini(l.checks + i);
	mem_free(l.checks);
	buf_fini(&l.text);
	return rc;
}
