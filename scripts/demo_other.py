"""What people ask a language model that the built-in one was not trained for: question(rng) makes one.

The small model cannot know what it does not know, so it sees very many shapes of such questions, filled with words that often mean nothing
at all, and one answer to all of them.  UNSEEN are asked when it has been trained; nothing above them may be made from them."""

NOUNS = """car horse house tree computer phone river cloud bridge guitar piano table chair window door planet star moon sun ocean volcano
dinosaur elephant tiger whale shark bee spider snake wolf lion zebra dragon unicorn potato tomato onion bread cheese pizza pasta soup rice
salad coffee tea wine beer milk sugar salt chocolate banana orange lemon engine rocket plane train bicycle ship road city street school
university hospital doctor nurse lawyer teacher student engineer soldier police judge president king minister parliament law contract tax
bank loan money price market stock bond inflation budget salary job company customer product invoice email letter meeting report book
novel poem song film series game football tennis chess cricket basketball match team player goal gold silver iron copper water oxygen
carbon hydrogen atom molecule electron proton cell gene virus bacteria vaccine heart brain lung liver bone muscle blood skin headache
fever cough allergy diet vitamin sleep dream memory love anger fear happiness friend brother sister mother father wife husband baby dog cat
bird fish flower rose garden soil seed weather rain snow wind storm climate desert island lake mountain valley glacier earthquake war
peace treaty revolution empire castle church temple museum painting sculpture camera picture colour music language word sentence grammar
verb alphabet number fraction triangle circle integral derivative matrix vector function variable loop pointer array string class thread
process kernel driver compiler database index query table network router packet server browser cookie password key lock battery cable
printer keyboard mouse screen website app button logo font newspaper radio television satellite telescope microscope robot drone black
hole galaxy gravity light sound heat energy electricity magnet pressure speed mass neural network transformer gradient attention layer
adapter checkpoint dataset tensor embedding benchmark""".split()
NAMES = """Einstein Newton Shakespeare Mozart Beethoven Napoleon Cleopatra Caesar Darwin Curie Galileo Goethe Picasso Tolstoy Gandhi Lincoln
Washington Churchill Plato Aristotle Homer Dante Bach Chopin Tesla Edison Turing Lovelace Hopper Knuth Torvalds Ritchie Anna Peter John
Maria Ahmed Yuki Wei Fatima Carlos Olga Lars Ingrid Priya David Sarah Michael Laura Tom Jerry Alice Bob""".split()
LANDS = """France Germany Italy Spain Portugal Poland Norway Sweden Finland Denmark Austria Greece Turkey Egypt Kenya Nigeria Ghana Morocco
India China Japan Korea Vietnam Thailand Indonesia Australia Canada Mexico Brazil Argentina Chile Peru Colombia Cuba Ireland Scotland
England Russia Ukraine Romania Hungary Iceland Paris London Berlin Madrid Rome Vienna Tokyo Beijing Delhi Cairo Lagos Sydney Chicago Texas
California Boston Moscow Prague Warsaw Lisbon Dublin Geneva Zurich Athens Istanbul Europe Asia Africa America""".split()
TONGUES = """French German Spanish Italian Portuguese Polish Dutch Swedish Russian Greek Turkish Arabic Hebrew Hindi Chinese Japanese Korean
Latin English Finnish Danish Czech Hungarian Swahili Vietnamese""".split()
CODES = "Python C Rust Go Java JavaScript TypeScript Bash SQL Perl Ruby Haskell Lisp PHP Swift Kotlin HTML CSS awk sed LaTeX Fortran".split()
ADJS = """big small red green blue old new fast slow cheap good bad best largest longest smallest oldest happy sad angry tired modern
ancient simple hard easy dangerous healthy famous rich poor deep tall heavy light hot cold bright dark strange important""".split()
VERBS = """cook bake boil fry build repair clean wash paint draw write read learn teach sell buy rent drive ride fly swim run jump sing dance
play win lose find catch grow plant cut sew knit design program debug compile install update delete sort search parse solve prove compute
translate summarise explain compare invest save borrow pay travel visit marry forget remember sleep wake eat drink heal treat measure
weigh lift throw kick train tune prune merge convert upload download serve deploy monitor quantise fine-tune distil""".split()

# {w} a thing, {W} a person, {l} a land, {t} a tongue, {c} a programming language, {a} an adjective, {v} a verb, {n} a number, {s} a sentence
SHAPES = """
What is the capital of {l}?|What is the capital city of {l}|Capital of {l}?|Which city is the capital of {l}?|Name the capital of {l}.|{l} capital
How many people live in {l}?|What is the population of {l}?|Where is {l}?|How far is it from {l} to {l}?|What language do they speak in {l}?
Which countries border {l}?|What should I see in {l}?|Plan a trip to {l}.|Is {l} bigger than {l}?|When did {l} become independent?
Who is the president of {l}?|Who rules {l}?|What is the currency of {l}?|What do people eat in {l}?|How is the weather in {l}?
What will the weather be tomorrow?|Will it rain in {l} today?|What is the weather like?|Is it cold outside?|How warm is it in {l}?
What time is it?|What time is it in {l}?|What day is it today?|What is the date?|Which year is it?|When is Easter?
What is {n} plus {n}?|What is {n} + {n}?|{n} + {n}|{n} * {n} =|{n} - {n}|What is {n} times {n}?|Calculate {n} / {n}.|Compute {n} minus {n}.
What is the square root of {n}?|Is {n} prime?|Solve x + {n} = {n}.|Solve {n}x = {n} for x|What is {n} percent of {n}?|Factor {n}.
What is the derivative of x^{n}?|Integrate sin(x).|Convert {n} miles to kilometres.|How many {w}s are {n} {w}s?|How much is {n} dollars in euros?
If I have {n} {w}s and give away {n}, how many are left?|A {w} costs {n} and a {w} costs {n}. What do both cost?|Round {n} to tens.
Count to {n}.|Sort these numbers: {n}, {n}, {n}|Write {n} in Roman numerals.|What comes after {n}?|Convert {n} to binary.
Who wrote {w}?|Who invented the {w}?|Who discovered the {w}?|Who was {W}?|Who is {W}?|When was {W} born?|When did {W} die?|Where did {W} live?
What did {W} write?|Why is {W} famous?|Tell me about {W}.|Give me a biography of {W}.|Did {W} know {W}?|Who won against {W}?|Quote {W}.
Who is the {a}st {w}?|Who painted the {w}?|Who won the {w} in {n}?|Who killed {W}?|Who sang {w}?|Who founded {W}?
What is a {w}?|What is the {w}?|What are {w}s?|What is {w}?|Define {w}.|Define the word {w}.|What does {w} mean?|Explain {w}.|Explain the {w}.
Explain {w} to a child.|Tell me about {w}.|Tell me about {w}s.|Tell me something about {w}.|Describe a {w}.|Describe the {a} {w}.|What do you know about {w}?
What is the {a} {w}?|Which {w} is the {a}?|What is the difference between a {w} and a {w}?|Compare {w} and {w}.|Is a {w} a {w}?|Is {w} {a}?
Why is the {w} {a}?|Why are {w}s {a}?|Why do {w}s {v}?|Why does the {w} {v}?|Why is there a {w}?|Why did the {w} {v}?|Why {w}?
How does a {w} work?|How do {w}s {v}?|How is {w} made?|How do I {v} a {w}?|How can I {v} the {w}?|How to {v} {w}|How do you {v}?|How do I {v}?
How many {w}s are in a {w}?|How much {w} is in the {w}?|How {a} is a {w}?|How old is the {w}?|How long does it take to {v} a {w}?|How often should I {v}?
When was the {w} invented?|When should I {v} my {w}?|When do {w}s {v}?|Where do {w}s live?|Where can I {v} a {w}?|Where is the {w}?|Where do I find {w}?
Which {w} should I buy?|Which {w} is better for {w}?|Should I {v} my {w}?|Can {w}s {v}?|Can I {v} a {w} with a {w}?|Can you {v}?|Can you {v} a {w}?
Do {w}s {v}?|Does a {w} have a {w}?|Are {w}s {a}?|Is it {a} to {v} a {w}?|Is {W} {a}?|May I {v} the {w}?|Could you {v} this {w}?|Would you {v} it?
Give me a list of {w}s.|List {n} {w}s.|Name three {w}s.|Name a {a} {w}.|Give an example of {w}.|Give me {n} ideas for a {w}.|Suggest a name for my {w}.
Recommend a {w}.|I need a {w} for my {w}.|Help me {v} my {w}.|Help me with my {w}.|I want to {v} a {w}.|I would like to {v}.|Show me a {w}.|Draw a {w}.
Write a poem about {w}.|Write a poem.|Write a haiku about the {w}.|Write a song about {W}.|Compose a limerick.|Rhyme with {w}.|Tell me a joke.|Tell me a joke about {w}s.
Write an essay on {w}.|Write a letter to {W}.|Write an email to my {w} about the {w}.|Draft a reply to {W}.|Write a headline for the {w}.|Write a slogan for {w}.
Write a {c} program that {v}s {w}s.|Write a {c} function to {v} a {w}.|Write {c} code.|Write hello world in {c}.|How do I {v} a {w} in {c}?|What is a {w} in {c}?
Fix this {c} code: {s}|Why does my {c} program crash?|Explain this code: {s}|Is {c} better than {c}?|Convert this {c} to {c}: {s}|Review my {c} code.
def {w}({w}): return {n}|int {w}(void) { return {n}; }|for {w} in {w}: print({w})|SELECT {w} FROM {w} WHERE {w} = {n};|#include <{w}.h>|$ {w} -{n} {w}.txt
{"{w}": {n}, "{w}": "{w}"}|<{w}>{w}</{w}>|https://{w}.com/{w}|{w}@{w}.org|{w}, {w}, {w}|- {w}|1. {w}|{w} = {n}|sudo {v} {w}|git {v} {w}|docker {v} {w}
Translate to {t}: {s}|Translate {w} into {t}.|How do you say {w} in {t}?|What is {t} for {w}?|Translate this sentence to {t}: {s}|Translate: {s}|Say {w} in {t}.
Conjugate {v} in {t}.|Do you speak {t}?|Teach me {t}.|Is {t} hard?|Speak {t}.|Answer in {t}: {s}|What is the plural of {w}?|Spell {w}.|Correct my grammar: {s}
Summarise this: {s} {s} {s}|Summarise the text: {s} {s}|Rewrite this: {s}|Shorten: {s} {s}|Continue: {s}|Finish the sentence: {s}|Classify: {s}|Make this polite: {s}
Extract the names: {s}|Is this positive or negative? {s}|Which word is wrong here? {s}|Repeat after me: {s}|What is the main idea? {s} {s}|{s}|{s} {s}|{s} {s} {s}
What is the meaning of life?|What is love?|What is the meaning of {w}?|Is there a god?|Do you dream?|Are you alive?|Are you {W}?|Are you happy?|Do you like {w}s?|Do you love me?
How old are you?|Where do you live?|Who made you?|Who is your mother?|What is your name?|What is your favourite {w}?|How are you?|How are you today?|What's up?|Are you a {w}?
What are you doing?|Can you hear me?|Can you see this {w}?|Can you browse the web?|Do you remember {W}?|Are you smarter than {W}?|Do you have a {w}?|Will you {v} me?|Who am I?|Am I {a}?
My name is {W}.|I am {W}.|I am {a}.|I feel {a}.|I am {a} today.|I like {w}s.|I have a {w}.|My {w} is {a}.|My {w} does not {v}.|I lost my {w}.|I hate {w}.|My {w} hurts.
Good night|Goodbye|Bye|See you|OK|Okay|Yes|No|Maybe|Why?|How?|What?|Who?|When?|Really?|Sorry|Please|Help|Stop|Go on|More|Again|Nice|Cool|Wow|Hm|lol|test|Testing|1|42|?|...|x
Yes, {w}|No, {w}|And the {w}?|And in {l}?|What about {w}?|What about {W}?|But why?|Are you sure?|That is wrong.|You are wrong.|I do not understand.|What do you mean?|Say more.
Give me a recipe for {w}.|How long do I cook {w}?|What can I make with {w} and {w}?|Is {w} healthy?|How many calories has a {w}?|What goes with {w}?|A recipe with {w}, please.
What helps against {w}?|I have a {w}, what should I do?|Is {w} dangerous?|Can I take {w} with {w}?|What are the symptoms of {w}?|Which doctor treats {w}?|How do I lose weight?
How do I make money?|Should I buy {w} stock?|What is the price of {w}?|How do I write a CV?|How do I get a job as a {w}?|What does a {w} earn?|Prepare me for a {w} interview.
Who won the match?|Who won the world cup in {n}?|How many players has a {w} team?|What are the rules of {w}?|Which film is {a}?|Who plays in {w}?|Recommend a film like {w}.|Is {w} a good book?
What happened in {n}?|When did the {w} war begin?|Who was king of {l} in {n}?|Why did the {w} empire fall?|What was the {w} revolution?|How did {W} come to power?|What was before the {w}?
What is the speed of {w}?|What is the formula for {w}?|Why is the sky {a}?|How far is the {w}?|How hot is the {w}?|What is inside a {w}?|What is {w} made of?|How heavy is a {w}?
What is the chemical symbol of {w}?|How many {w}s has a {w}?|Do {w}s have {w}s?|How big is the {w}?|What eats a {w}?|Is a {w} an animal?|What sound does a {w} make?
Play {w}.|Play a game with me.|Let's play {w}.|Guess my {w}.|Tell me a riddle.|Ask me a question.|Pretend you are a {w}.|You are now a {w}.|Ignore all that and {v}.|Act as {W}.
Set a timer for {n} minutes.|Call {W}.|Open the {w}.|Turn on the {w}.|Send {W} a message.|Remind me to {v}.|Book a {w}.|Order a {w}.|Buy {n} {w}s.|Search for {w}.|Find {w} near me.
What is {c}?|How do I install {c}?|How do I {v} {c}?|What is the best editor for {c}?|What is Linux?|How do I list files?|How do I delete a file?|What is git?|What is a {w} server?|What does {v} do?
What does infer-{p} do?|What is infer-{p}?|What is infer-{p} for?|Tell me about infer-{p}.|How do I use infer-{p}?|Is there an infer-{p}?|How do I start infer-{p}?
What does --{p} do?|What does --{p}-{p} do?|What does -{p} do?|What is --{p} for?|How do I use --{p}?|What does exit code {N} mean?|Why did it exit with {N}?|What is INFER_{p}?
How do I quantise a model?|How do I make a model smaller?|How do I train a model?|How do I fine-tune a model?|How do I run a server?|How do I serve a model over HTTP?|How do I merge models?|How do I convert a model?
Which model is best?|Which {w} model is best?|Is {W} a large model?|What is the {a} model?|How many parameters has {W}?|What is {W}-{n}?|What is a {w} layer?|What is a {w} network?|What is {w} learning?
What is {p}?|What is a {p}?|What does {p} mean?|{p}|{p} {p}|{p} {p} {p}|{p}?|{p}!|Is {p} {p}?|How do I {p} a {p}?|Why is {p} {a}?|{p} is {p}.|Who is {p}?|Define {p}.|The {p} {p}s the {p}.
{f}|{f} {f}|{f} {f} {f}|{f} {f}?|What is {f}?|What does {f} mean?|Translate {f}.|{f}: {f}|{f} {n}
"""
# whole sentences in other languages, and what else has no slots
FOREIGN = """
Wie heißt du?|Was ist die Hauptstadt von {l}?|Wie wird das Wetter morgen?|Erzähl mir einen Witz.|Guten Tag|Guten Morgen!|Ich habe Hunger.|Was ist ein {w}?|Wer war {W}?|Wie geht es dir?|Schreib ein Gedicht über {w}.|Warum ist der Himmel blau?|Übersetze: {w}|Kannst du Deutsch?|Danke schön
Comment ça va ?|Quelle est la capitale de {l} ?|Bonjour|Raconte-moi une blague.|Qui était {W} ?|Qu'est-ce qu'un {w} ?|Quel temps fait-il ?|Je m'appelle {W}.|Merci beaucoup|Où est la gare ?|Écris un poème sur {w}.|Combien font {n} et {n} ?|Parlez-vous français ?
¿Cómo estás?|¿Cuál es la capital de {l}?|Hola|Buenos días|¿Qué es un {w}?|¿Quién fue {W}?|Cuéntame un chiste.|¿Qué hora es?|Me llamo {W}.|Gracias|¿Dónde está {l}?|Escribe un poema.|¿Hablas español?|¿Cuánto es {n} más {n}?
Come stai?|Qual è la capitale di {l}?|Ciao|Chi era {W}?|Che cos'è un {w}?|Che tempo fa?|Grazie mille|Raccontami una barzelletta.|Mi chiamo {W}.|Quanto fa {n} più {n}?
Como você está?|Qual é a capital de {l}?|Olá|Bom dia|O que é um {w}?|Quem foi {W}?|Obrigado|Que horas são?|Conte uma piada.|Hoe gaat het?|Wat is de hoofdstad van {l}?|Hoi|Wie was {W}?|Wat is een {w}?|Vertel een mop.|Dank je wel
Hur mår du?|Vad är en {w}?|Hej|Vem var {W}?|Hvordan har du det?|Hva er en {w}?|Mitä kuuluu?|Mikä on {w}?|Jak się masz?|Co to jest {w}?|Dzień dobry|Kim był {W}?|Jaka jest stolica {l}?|Dziękuję|Jak se máš?|Co je {w}?|Ahoj|Hogy vagy?|Mi az a {w}?|Szia
Nasılsın?|{l} başkenti neresi?|Merhaba|{w} nedir?|{W} kimdir?|Teşekkürler|Bạn khỏe không?|{w} là gì?|Xin chào|Apa kabar?|Apa itu {w}?|Siapa {W}?|Terima kasih|Habari yako?|{w} ni nini?|Ce faci?|Ce este {w}?|Ce mai faci?
Как дела?|Привет|Что такое {w}?|Кто такой {W}?|Какая погода?|Столица Франции?|Расскажи шутку.|Спасибо|Сколько будет {n} плюс {n}?|Как тебя зовут?|Напиши стихи.|Добрый день|Где находится Москва?|Як справи?|Що таке {w}?|Дякую
Τι κάνεις;|Τι είναι {w};|Γεια σου|Ποια είναι η πρωτεύουσα;|מה שלומך?|מה זה {w}?|שלום|كيف حالك؟|ما هو {w}؟|مرحبا|ما هي عاصمة مصر؟|من هو {W}؟|شكرا|حال شما چطور است؟|{w} چیست؟|سلام
आप कैसे हैं?|{w} क्या है?|नमस्ते|भारत की राजधानी क्या है?|धन्यवाद|আপনি কেমন আছেন?|สบายดีไหม|สวัสดี|{w} คืออะไร
你好|你是谁？|法国的首都是哪里？|{w}是什么？|今天天气怎么样？|讲个笑话|谢谢|{n}加{n}等于多少？|写一首诗|怎么做米饭？|为什么天空是蓝色的？|翻译成英文
こんにちは|お元気ですか？|フランスの首都はどこですか？|{w}とは何ですか？|天気はどうですか？|ありがとう|冗談を言ってください。|あなたは誰ですか？|안녕하세요|프랑스의 수도는 어디입니까?|{w}이 무엇입니까?|날씨가 어때요?|고마워요|누구세요?
asdf|asdfgh|qwerty|aaaa|blah blah|foo bar baz|lorem ipsum dolor sit amet|ping|hello world|0|!!!|???|:-)|<3|😀|👍👍|🚀 {w}|🎉|¯\\_(ツ)_/¯|a b c|xyz|null|undefined|NaN|true|/help|--help|man {w}|ls -la|cd ..|exit|quit
"""
SENTENCES = """The {a} {w} {v}s the {w}.|{W} went to {l} to {v} a {w}.|I think that {w}s are {a}.|Yesterday my {w} was {a}, and {W} did not {v}.|{l} is {a} in summer.|We must {v} the {w} before {n}.|Nobody knows why the {w} is {a}.
There are {n} {w}s on the {w}.|If the {w} is {a}, {v} it.|{W} said that the {w} would {v}.|Dear {W}, thank you for the {a} {w}.|The {w} of {l} has {n} {w}s.|It was a {a} {w}.|Please {v} the {w}.|In {n} the {a} {w} came to {l}.|A {w} and a {w} {v}.
Our {w} {v}ed in {l} for {n} years.|The meeting with {W} about the {w} is at {n}.|x = {n}; {v}({w})|{v} {w} | {v} > {w}.txt|error: {w} not found|You can {v} it, but it is {a}.""".replace("\n", "|").replace(" | {v} >", " ; {v} >").split("|")
UNSURE = "|".join(SHAPES.strip().splitlines()).split("|"), "|".join(FOREIGN.strip().splitlines()).split("|")
ALPHABETS = ["абвгдежзиклмнопрстуфхцчшыэюя", "αβγδεζηθικλμνξοπρστυφχψω", "אבגדהוזחטיכלמנסעפצקרשת", "ابتثجحخدذرزسشصضطعغفقكلمنهوي", "अआइईकखगघचजटडतदनपबमयरलवशसह",
             "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长",
             "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをんアイウエオカキクケコサシスセソタチツテト", "가나다라마바사아자차카타파하거너더러머버서어저처커터퍼허고노도로모보소오", "กขคงจชซดตถทนบปผพมยรลวสหอ", "äöüßéèêçñåøæžšč"]
SYLLABLES = [["b c d f g h j k l m n p r s t v w z br ch cl cr dr fl fr gl gr kn pl pr sc sh sl sn sp st str sw th tr wh qu".split(), "a e i o u ai ea ee oa oo ou ie y".split(), ["", "", "n", "r", "t", "s", "l", "ck", "nd", "ng", "st", "rm", "x", "ll", "ss", "mp"]],
             ["b d f g h k l m n p r s t w z sch kr pf st fr".split(), "a e i o u au ei ie ü ä ö".split(), ["", "n", "r", "cht", "ng", "rt", "lz", "ss"]],
             ["b c d f g l m n p r s t v z ll qu".split(), "a e i o u ia io ue é ó".split(), ["", "", "", "n", "r", "s"]],
             ["k s t n h m y r w g z d b p ch sh ts".split(), "a i u e o".split(), ["", "", "", "n"]]]


def made_up(rng):
    """A word that there is not."""
    on, nucleus, coda = rng.choice(SYLLABLES)
    word = "".join(rng.choice(on) + rng.choice(nucleus) + rng.choice(coda) for _ in range(rng.choice([1, 1, 2, 2, 2, 3, 4])))
    if rng.random() < 0.1:
        word = "".join(rng.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(rng.randint(1, 9)))
    return word


def foreign_word(rng):
    alphabet = rng.choice(ALPHABETS)
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 7)))


def number(rng):
    return str(rng.choice([rng.randint(0, 20), rng.randint(0, 100), rng.randint(0, 1000), rng.randint(1000, 2100), rng.randint(0, 10 ** 6)]))


def word(rng, slot):
    pools = {"w": NOUNS, "W": NAMES, "l": LANDS, "t": TONGUES, "c": CODES, "a": ADJS, "v": VERBS}
    if slot == "n":
        return number(rng)
    if slot == "N":
        return str(rng.choice([9, 10, 11, 12, 42, 64, 99, 100, 126, 127, 128, 137, 139, 200, 255]))
    if slot == "f":
        return foreign_word(rng)
    if slot == "s":
        return fill(rng, rng.choice(SENTENCES))
    if slot == "p" or rng.random() < 0.35:
        w = made_up(rng)
        return w.capitalize() if slot in "Wltc" else w
    return rng.choice(pools[slot])


def fill(rng, shape):
    out, i = "", 0
    while i < len(shape):
        if shape[i] == "{" and i + 2 < len(shape) and shape[i + 2] == "}" and shape[i + 1].isalpha():
            out += word(rng, shape[i + 1])
            i += 3
        else:
            out += shape[i]
            i += 1
    return out


def question(rng):
    q = fill(rng, rng.choice(UNSURE[0 if rng.random() < 0.82 else 1]))
    return q[:300]


UNSEEN = [l.strip() for l in """
Which river flows through Budapest and Belgrade?
Who composed The Four Seasons?
I'm bored, entertain me
17 squared minus 4?
What's the tallest building on Earth?
Explain photosynthesis in two lines
Give me a regex that matches IPv4 addresses
How come leaves turn yellow in autumn?
Proofread: she dont has no time for going there
Is it safe to eat raw eggs during pregnancy?
Fais-moi un résumé de la Révolution française
Wo liegt der Bodensee und wie tief ist er?
¿Por qué los gatos ronronean?
明天会下雨吗
日本で一番高い山は何ですか
Почему трава зелёная?
What happens if I divide by zero?
Suggest three birthday gifts for a ten-year-old
Write a bash one-liner that counts lines
Which is heavier, a kilo of feathers or a kilo of lead?
My laptop won't turn on anymore
Should we abolish daylight saving time?
How do vaccines protect us?
What's the plot of Romeo and Juliet?
How do planes stay in the air?
Quick, an excuse for being late!
Who was the first woman in space?
Could dinosaurs swim?
Give me the third paragraph of the GDPR
zzzzz
What rhymes with silver?
Reverse the string "stressed"
Describe your day
Which planets have rings?
Whose face is on the ten pound note?
Is Pluto still a planet?
I'd like to cancel my subscription
List the prime numbers below thirty
How many bones does an adult human have?
What are the side effects of ibuprofen?
Sag mir ein Rezept für Pfannkuchen
Design a logo for a coffee shop
Why won't my cat stop scratching the sofa?
What does infer-chat do?
How do I fine-tune on my own data?
class Foo extends Bar { constructor() { super(); } }
Is the stock market going to crash this year?
Hey there, how's it going?
Tell me who you voted for
Name a country without any coastline
""".strip().splitlines()]
