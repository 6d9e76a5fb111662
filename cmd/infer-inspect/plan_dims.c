/* infer-inspect/plan_dims.c - models without weights: a size class, a config.json, a model of the hub. */
#include "plan.h"
#include "common/file.h"
#include "common/model.h"
#include "base/err.h"
#include "base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, CLASS = 64, SIMILAR = 3 };

static int is_config(const char *word)
{
	const char *base = strrchr(word, '/');

	return !strcmp(base ? base + 1 : word, "config.json");
}

/* True for config.json, and for a file with another name that ends in .json. */
static int is_json(const char *word)
{
	size_t n = strlen(word);

	return is_config(word) || (n > 5 && !strcmp(word + n - 5, ".json") && !access(word, F_OK));
}

/* True for hf:ORG/REPO[@REV], and for ORG/REPO if there is no such file. */
static int is_repository(const char *word)
{
	const char *slash = strchr(word, '/');

	if (!strncmp(word, "hf:", 3))
		return !strchr(word + 3, ':');
	return slash && slash > word && slash[1] && !strchr(slash + 1, '/') && !strchr(word, ':') &&
	       *word != '.' && *word != '~' && access(word, F_OK) != 0;
}

/* True for a size class, alone or as CLASS:TYPE.  Copies the class to `size`, and sets *type to the text after the
 * colon; NULL: there is none. */
static int is_class(char size[CLASS], const char **type, const char *word)
{
	const char *colon = strchr(word, ':');
	size_t n = colon ? (size_t)(colon - word) : strlen(word);

	if (n >= CLASS)
		return 0;
	memcpy(size, word, n);
	size[n] = 0;
	*type = colon ? colon + 1 : NULL;
	return infer_dims_is_class(size);
}

/* Return how far a name is from a typed one, case ignored.  A name that begins with it is one edit away. */
static int name_distance(const char *typed, const char *name)
{
	char a[CLASS], b[CLASS];
	size_t n = 0;

	if (!strncasecmp(typed, name, strlen(typed)))
		return 1;
	if (strlen(typed) >= CLASS || strlen(name) >= CLASS)
		return CLASS;
	for (; typed[n]; n++)
		a[n] = (char)tolower((unsigned char)typed[n]);
	a[n] = 0;
	for (n = 0; name[n]; n++)
		b[n] = (char)tolower((unsigned char)name[n]);
	b[n] = 0;
	return nearest_edits(a, b);
}

/* Append the names of usual models that are nearest to a typed one. */
static void put_similar(struct buf *out, const char *typed)
{
	int most = 1 + (int)strlen(typed) / 3, n = 0;

	for (int far = 0; far <= most && n < SIMILAR; far++)
		for (int i = 0; infer_dims_usual(i) && n < SIMILAR; i++)
			if (name_distance(typed, infer_dims_usual(i)) == far)
				buf_printf(out, "%s%s", n++ ? ", " : "", infer_dims_usual(i));
}

/* Refuse a word if there is no such file. Accept paths, references and names of model files without a look. */
static int check_plain_word(const char *word, infer_error *err)
{
	const char *colon = strchr(word, ':');
	struct buf near;
	char name[CLASS];

	/* NAME:TYPE with a name that is not known is one of Ollama, unless it ends in a type of plan */
	int typed = colon && colon - word < CLASS && plan_find_type(colon + 1) >= 0;

	if (strchr(word, '/') || (colon && !typed) || strstr(word, ".gguf") ||
	    !strcmp(word, "demo") || !access(word, F_OK))
		return INFER_OK;
	snprintf(name, sizeof name, "%.*s", typed ? (int)(colon - word) : CLASS - 1, word);
	buf_init(&near, MEM_BASE);
	put_similar(&near, name);
	int rc = near.len && !near.bad
	                 ? err_set(err, INFER_EINVAL,
	                           "'%.60s' is neither a file nor a usual model; near: %.110s; "
	                           "infer-inspect(1) lists the names",
	                           word, near.at)
	                 : err_set(err, INFER_EINVAL,
	                           "'%.40s' is neither a file nor a size; plan takes a file, a "
	                           "size (8B, 30B-A3B, 8B:Q4_K_M), hf:ORG/REPO, or the name of a "
	                           "usual model (Llama-3.1-8B; infer-inspect(1) lists them)",
	                           word);

	buf_fini(&near);
	return rc;
}

int plan_find_config(int *without, const char **config, const char *word, infer_error *err)
{
	infer_error none;
	const char *path, *type;
	char size[CLASS];

	*without = 0;
	*config = NULL;
	if (!word)
		return INFER_OK;
	if (is_class(size, &type, word) && access(word, F_OK) != 0) {
		*without = 1;
		return INFER_OK;
	}
	if (is_json(word)) {
		*config = word;
		*without = 1;
		return INFER_OK;
	}
	if (!is_repository(word) ||
	    (!strncmp(word, "hf:", 3) && !model_path_cached(&path, word, &none)))
		return check_plain_word(word, err);
	int rc = model_config(config, word, err);

	*without = !rc;
	/* without a config.json it has a GGUF file, which is downloaded, and bare names are explained */
	return rc == INFER_EINVAL || strncmp(word, "hf:", 3) != 0 ? INFER_OK : rc;
}

static int read_config(struct planned *p, const char *path, infer_error *err)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	int rc = file_read(&text, path, MOST_BYTES, err);

	if (!rc)
		rc = infer_dims_config(&p->dims, text.len ? text.at : "", text.len, p->named, err);
	buf_fini(&text);
	return rc;
}

static int main_type(const struct infer_dims *d)
{
	return d->expert_type ? d->expert_type : d->type;
}

/* Set the dimensions and *type, the type of the weights, from CLASS or CLASS:TYPE. */
static int take_class(struct planned *p, int *type, const char *word, infer_error *err)
{
	char size[CLASS];
	const char *name;

	TRY(is_class(size, &name, word) ? infer_dims_class(&p->dims, size, err)
	                                : infer_dims_class(&p->dims, word, err));
	*type = name ? plan_find_type(name) : main_type(&p->dims);
	if (*type < 0)
		return err_set(
			err, INFER_EINVAL,
			"'%.40s' is not a type of plan: BF16, F16, F32, Q8_0, Q6_K, "
			"Q5_K_M, Q4_K_M, MXFP4, IQ4_XS, Q3_K_M, IQ3_XXS, Q2_K, IQ2_XXS, IQ1_S",
			name);
	if (*type != p->dims.expert_type)
		p->dims.expert_type = 0;
	if (infer_type_info(*type)->block == 1)
		p->dims.type = *type;
	return INFER_OK;
}

int plan_take_dims(struct planned *p, const char *word, struct buf *path, infer_error *err)
{
	const char *config = p->o->plan.config, *slash = strrchr(word, '/');

	int type;

	p->named = word;
	if (config)
		TRY(read_config(p, config, err));
	else
		TRY(take_class(p, &type, word, err));
	if (!config || (config == word && !is_config(word)))
		buf_puts(path, "MODEL.gguf");
	else if (!is_config(word))
		buf_printf(path, "%s%s", strncmp(word, "hf:", 3) ? "hf:" : "", word);
	else
		buf_printf(path, "%.*s", slash ? (int)(slash - word) + (slash == word) : 1,
		           slash ? word : ".");
	if (path->bad)
		return err_set(err, INFER_ENOMEM, "out of memory for a path");
	p->path = path->at;
	TRY(infer_dims_shape(&p->shape, &p->dims, err));
	p->type = config ? main_type(&p->dims) : type;
	if (p->type != main_type(&p->dims))
		infer_shape_retype(&p->shape, p->type);
	return INFER_OK;
}
