/* pyval/split.c - str.split, rsplit, splitlines, partition, rpartition. */
#include "pyval/method.h"
#include "base/err.h"
#include "text/unicode.h"

int py_is_space(uint32_t cp) { return (unicode_set(cp) & UNI_SPACE) || (cp >= 0x1c && cp <= 0x1f); }

static int push_sub(struct pyrun *r, struct pyval list, const struct pystr *s, size_t at, size_t n)
{
	struct pyval v;

	TRY(py_sub(r, &v, s, at, n));
	return py_push(r, list, v);
}

static void reverse_list(struct pylist *l)
{
	for (size_t i = 0; i < l->n / 2; i++) {
		struct pyval v = l->at[i];
		l->at[i] = l->at[l->n - 1 - i];
		l->at[l->n - 1 - i] = v;
	}
}

static int split_space(struct pyrun *r, const struct pystr *s, int64_t most, struct pyval list)
{
	uint32_t cp;
	size_t i = 0, k, from;

	for (;;) {
		for (; i < s->len; i += k) {
			k = unicode_next(s->at + i, s->len - i, &cp);
			if (!py_is_space(cp))
				break;
		}
		if (i >= s->len)
			return r->rc;
		from = i;
		if (most-- == 0)
			return push_sub(r, list, s, from, s->len - from);
		for (; i < s->len; i += k) {
			k = unicode_next(s->at + i, s->len - i, &cp);
			if (py_is_space(cp))
				break;
		}
		TRY(push_sub(r, list, s, from, i - from));
	}
}

/* Split from the right; append the pieces last to first. */
static int rsplit_space(struct pyrun *r, const struct pystr *s, int64_t most, struct pyval list)
{
	struct pyval words;

	TRY(py_list(r, &words, PY_LIST, 0));
	TRY(split_space(r, s, -1, words));
	size_t n = words.l->n;
	while (n && most-- != 0)
		TRY(py_push(r, list, words.l->at[--n]));
	if (!n)
		return r->rc;
	/* the rest: all text up to the end of word n, with leading white space */
	const struct pystr *last = words.l->at[n - 1].s;
	return push_sub(r, list, s, 0, (size_t)(last->at - s->at) + last->len);
}

static int split_on(struct pyrun *r, struct pycall *c, int right, struct pyval *out)
{
	const struct pystr *s = c->self.s, *sep;
	size_t lo = 0, hi = s->len, at;
	int64_t most;

	TRY(py_int_arg(r, c->a[1], -1, &most));
	TRY(py_list(r, out, PY_LIST, 0));
	TRY(py_spend(r, c->a[0].type == PY_STR ? 0 : s->len / PY_STEP_READ));
	if (c->a[0].type <= PY_NONE && c->a[0].type != PY_UNDEF) {
		TRY(right ? rsplit_space(r, s, most, *out) : split_space(r, s, most, *out));
		if (right)
			reverse_list(out->l);
		return r->rc;
	}
	TRY(py_str_arg(r, c->self, c->a[0], &sep));
	if (!sep->len)
		return py_fail(r, "empty separator");
	while (most-- != 0 && (at = right ? pystr_rfind(r, s, lo, hi, sep)
	                                  : pystr_find(r, s, lo, hi, sep)) != SIZE_MAX) {
		if (right) {
			TRY(push_sub(r, *out, s, at + sep->len, hi - at - sep->len));
			hi = at;
		} else {
			TRY(push_sub(r, *out, s, lo, at - lo));
			lo = at + sep->len;
		}
	}
	TRY(push_sub(r, *out, s, lo, hi - lo));
	if (right)
		reverse_list(out->l);
	return r->rc;
}

int py_split(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return split_on(r, c, 0, out);
}
int py_rsplit(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return split_on(r, c, 1, out);
}

static int ends_line(uint32_t cp)
{
	return (cp >= 10 && cp <= 13) || (cp >= 0x1c && cp <= 0x1e) || cp == 0x85 || cp == 0x2028 ||
	       cp == 0x2029;
}

int py_splitlines(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	const struct pystr *s = c->self.s;
	size_t from = 0, i = 0;
	int keep = py_true(c->a[0]);
	uint32_t cp;

	TRY(py_list(r, out, PY_LIST, 0));
	TRY(py_spend(r, s->len / PY_STEP_READ));
	while (i < s->len) {
		size_t at = i;
		i += unicode_next(s->at + i, s->len - i, &cp);
		if (!ends_line(cp))
			continue;
		if (cp == '\r' && i < s->len && s->at[i] == '\n')
			i++;
		TRY(push_sub(r, *out, s, from, (keep ? i : at) - from));
		from = i;
	}
	return from < s->len ? push_sub(r, *out, s, from, s->len - from) : r->rc;
}

static int partition_str(struct pyrun *r, struct pycall *c, int right, struct pyval *out)
{
	const struct pystr *s = c->self.s, *sep;

	TRY(py_str_arg(r, c->self, c->a[0], &sep));
	if (!sep->len)
		return py_fail(r, "empty separator");
	size_t at = right ? pystr_rfind(r, s, 0, s->len, sep) : pystr_find(r, s, 0, s->len, sep),
	       n = sep->len;
	if (at == SIZE_MAX) {
		at = right ? 0 : s->len;
		n = 0;
	}
	TRY(py_list(r, out, PY_TUPLE, 3));
	TRY(push_sub(r, *out, s, 0, at));
	TRY(push_sub(r, *out, s, at, n));
	return push_sub(r, *out, s, at + n, s->len - at - n);
}

int py_partition(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return partition_str(r, c, 0, out);
}
int py_rpartition(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return partition_str(r, c, 1, out);
}
