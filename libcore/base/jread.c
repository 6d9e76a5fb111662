/* base/jread.c */
#include "base/jread.h"
#include "base/err.h"

#include <math.h>
#include <string.h>

enum { DEEPEST = 256 };

/* jansson's own limit on depth is fixed when it is built: look first.  The text need not be JSON. */
static int check_depth(const char *text, size_t bytes, const char *what, infer_error *err)
{
	int depth = 0, string = 0;

	for (size_t i = 0; i < bytes; i++) {
		char c = text[i];

		if (string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				string = 0;
		} else if (c == '"') {
			string = 1;
		} else if (c == '[' || c == '{') {
			if (++depth > DEEPEST)
				return err_set(err, INFER_EFORMAT, "%s: nested deeper than %d at byte %zu",
				               what, DEEPEST, i);
		} else if (c == ']' || c == '}') {
			depth--;
		}
	}
	return INFER_OK;
}

int jread(json_t **out, const char *text, size_t bytes, const char *what, infer_error *err)
{
	json_error_t e;

	*out = NULL;
	TRY(check_depth(text, bytes, what, err));
	*out = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
	if (*out)
		return INFER_OK;
	if (!e.text[0] || json_error_code(&e) == json_error_out_of_memory)
		return err_set(err, INFER_ENOMEM, "%s: no memory for the JSON value", what);
	return err_set(err, INFER_EFORMAT, "%s: line %d, column %d: %s", what, e.line, e.column, e.text);
}

/* The value of key, or NULL where it is absent or null. */
static const json_t *field(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_null(v) ? NULL : v;
}

int jread_i64(const json_t *o, const char *key, int64_t *v, int64_t lo, int64_t hi, const char *what, infer_error *err)
{
	const json_t *j = field(o, key);
	json_int_t i;

	if (!j)
		return INFER_OK;
	if (!json_is_integer(j))
		return err_set(err, INFER_EFORMAT, "%s: %s is not an integer", what, key);
	i = json_integer_value(j);
	if (i < lo || i > hi)
		return err_set(err, INFER_EFORMAT, "%s: %s is %lld, not in %lld ... %lld", what, key, (long long)i,
		               (long long)lo, (long long)hi);
	*v = i;
	return INFER_OK;
}

int jread_f64(const json_t *o, const char *key, double *v, double lo, double hi, const char *what, infer_error *err)
{
	const json_t *j = field(o, key);
	double x;

	if (!j)
		return INFER_OK;
	if (!json_is_number(j))
		return err_set(err, INFER_EFORMAT, "%s: %s is not a number", what, key);
	x = json_number_value(j);
	if (!(x >= lo && x <= hi))
		return err_set(err, INFER_EFORMAT, "%s: %s is %.9g, not in %.9g ... %.9g", what, key, x, lo, hi);
	*v = x;
	return INFER_OK;
}

int jread_str(const json_t *o, const char *key, const char **v, size_t *len, const char *what, infer_error *err)
{
	const json_t *j = field(o, key);

	if (!j)
		return INFER_OK;
	if (!json_is_string(j))
		return err_set(err, INFER_EFORMAT, "%s: %s is not a string", what, key);
	if (!len && strlen(json_string_value(j)) != json_string_length(j))
		return err_set(err, INFER_EFORMAT, "%s: %s holds a NUL", what, key);
	*v = json_string_value(j);
	if (len)
		*len = json_string_length(j);
	return INFER_OK;
}
