/* infer-inspect/plan_dims.c - models without weights: a size class, a config.json, a model of the hub. */
#include "plan.h"
#include "common/file.h"
#include "common/model.h"
#include "base/err.h"

#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, CLASS = 64 };

static int is_config(const char *word)
{
	const char *base = strrchr(word, '/');

	return !strcmp(base ? base + 1 : word, "config.json");
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

/* Refuse a word if there is no such file. Accept paths, references and names of model files without a look. */
static int check_plain_word(const char *word, infer_error *err)
{
	if (strpbrk(word, "/:") || strstr(word, ".gguf") || !strcmp(word, "demo") ||
	    !access(word, F_OK))
		return INFER_OK;
	return err_set(
		err, INFER_EIO,
		"'%.60s' is neither a file nor a size; plan takes a file, a size (8B, 30B-A3B, "
		"8B:Q4_K_M), the name of a usual model (Llama-3.1-8B) or hf:ORG/REPO",
		word);
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
	if (is_config(word)) {
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

/* Set the dimensions and *type, the type of the weights, from CLASS or CLASS:TYPE. */
static int take_class(struct planned *p, int *type, const char *word, infer_error *err)
{
	char size[CLASS];
	const char *name;

	TRY(is_class(size, &name, word) ? infer_dims_class(&p->dims, size, err)
	                                : infer_dims_class(&p->dims, word, err));
	*type = name ? plan_find_type(name) : p->dims.type;
	if (*type < 0)
		return err_set(err, INFER_EINVAL,
		               "'%.40s' is not a type of plan: BF16, F16, F32, Q8_0, Q6_K, "
		               "Q5_K_M, Q4_K_M, IQ4_XS, Q3_K_M, IQ3_XXS, Q2_K, IQ2_XXS, IQ1_S",
		               name);
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
	if (!config)
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
	p->type = config ? p->dims.type : type;
	if (p->type != p->dims.type)
		infer_shape_retype(&p->shape, p->type);
	return INFER_OK;
}
