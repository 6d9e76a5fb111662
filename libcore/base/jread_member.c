/* base/jread_member.c - members of an object that was read, checked by type and range. */
#include "base/jread.h"
#include "base/err.h"

/* Return the value of a key, or NULL if it is absent or null. */
static const struct json *get_member(const struct json *o, const char *name)
{
	const struct json *v = json_get(o, name);

	return json_is_null(v) ? NULL : v;
}

int jread_i64(const struct json *o, const char *name, int64_t *v, int64_t lo, int64_t hi,
              const char *what, infer_error *err)
{
	const struct json *j = get_member(o, name);

	if (!j)
		return INFER_OK;
	if (!json_is_whole(j))
		return err_set(err, INFER_EFORMAT, "%s: %s is not an integer", what, name);
	if (j->kind == JSON_UINT)
		return err_set(err, INFER_EFORMAT, "%s: %s is %llu, not in %lld ... %lld", what,
		               name, (unsigned long long)j->u, (long long)lo, (long long)hi);
	if (j->i < lo || j->i > hi)
		return err_set(err, INFER_EFORMAT, "%s: %s is %lld, not in %lld ... %lld", what,
		               name, (long long)j->i, (long long)lo, (long long)hi);
	*v = j->i;
	return INFER_OK;
}

int jread_f64(const struct json *o, const char *name, double *v, double lo, double hi,
              const char *what, infer_error *err)
{
	const struct json *j = get_member(o, name);
	double x = json_double(j);

	if (!j)
		return INFER_OK;
	if (!json_is_number(j))
		return err_set(err, INFER_EFORMAT, "%s: %s is not a number", what, name);
	if (!(x >= lo && x <= hi))
		return err_set(err, INFER_EFORMAT, "%s: %s is %.9g, not in %.9g ... %.9g", what,
		               name, x, lo, hi);
	*v = x;
	return INFER_OK;
}

int jread_str(const struct json *o, const char *name, const char **v, size_t *len, const char *what,
              infer_error *err)
{
	const struct json *j = get_member(o, name);

	if (!j)
		return INFER_OK;
	if (!json_is_string(j))
		return err_set(err, INFER_EFORMAT, "%s: %s is not a string", what, name);
	*v = j->s;
	*len = j->n;
	return INFER_OK;
}
