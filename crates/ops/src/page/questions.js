// Questionnaires: what is asked, how one answers, and what is answered so far.

const GROUPS = 'fieldset,[role=radiogroup],[role=group]';

function pageStructure({ next }) {
  reserve(next);
  const forms = collectForms();
  const questions = [];
  const radioGroups = [];
  const taken = new Set();
  const fields = fieldElements();
  for (const element of fields) {
    if (taken.has(element)) continue;
    const kind = choiceKind(element);
    if (!kind) {
      const question = simpleQuestion(element);
      if (question) questions.push(question);
      continue;
    }
    const members = groupOf(element, kind, fields).filter((member) => !taken.has(member));
    for (const member of members) taken.add(member);
    const question = choiceQuestion(element, kind, members);
    questions.push(question);
    if (kind === 'radio') radioGroups.push({ name: attribute(element, 'name') ?? '', question: question.question, options: question.options });
  }
  const answered = questions.filter(({ answer }) => answer !== '' && answer !== null && !(Array.isArray(answer) && answer.length === 0)).length;
  const required = questions.filter((question) => question.required).length;
  const summary = { forms: forms.length, fields: fields.length, questions: questions.length, answered, required };
  return { forms, questions, radioGroups, summary, next: nextRef };
}

function choiceKind(element) {
  const tag = tagOf(element);
  if (tag === 'input') return element.type === 'radio' || element.type === 'checkbox' ? element.type : null;
  const role = roleOf(element);
  return role === 'radio' || role === 'checkbox' ? role : null;
}

/** The choices that belong together: by name, by the group around them, or one alone. */
function groupOf(element, kind, fields) {
  const name = tagOf(element) === 'input' ? attribute(element, 'name') : null;
  const group = choiceGroup(element);
  const isKind = (other) => choiceKind(other) === kind;
  if (kind === 'radio' && name) return fields.filter((other) => isKind(other) && attribute(other, 'name') === name && formOf(other) === formOf(element));
  if (group) return fields.filter((other) => isKind(other) && choiceGroup(other) === group);
  if (name) return fields.filter((other) => isKind(other) && attribute(other, 'name') === name && formOf(other) === formOf(element));
  return [element];
}

/** The nearest group around; a fieldset around a whole form groups nothing. */
function choiceGroup(element) {
  const group = closest(element, `${GROUPS},[role=list]`);
  if (!group || group === element) return null;
  return queryDeep(group, 'input:not([type=radio],[type=checkbox],[type=hidden]),select,textarea').length > 2 ? null : group;
}

function choiceQuestion(element, kind, members) {
  const group = choiceGroup(element);
  const options = members.map((member) => ({
    label: labelFor(member), ref: refOf(member), checked: checkedState(member) === true,
    value: attribute(member, 'value') ?? attribute(member, 'data-value') ?? '',
  }));
  const checked = options.filter((option) => option.checked).map(({ label }) => label);
  const alone = members.length === 1 && kind === 'checkbox';
  return {
    question: alone && !group ? labelFor(element) : (group && questionText(group)) || questionAbove(members) || attribute(element, 'name') || labelFor(element),
    type: kind === 'radio' ? 'radio' : alone ? 'checkbox' : 'checkboxes', ref: group ? refOf(group) : options[0].ref, options,
    required: members.some(isRequired) || Boolean(group && isRequired(group)), answer: kind === 'radio' ? checked[0] ?? '' : checked,
  };
}

function questionText(group) {
  const name = nameOf(group);
  if (name) return name;
  const [legend] = queryDeep(group, 'legend,[role=heading],h1,h2,h3,h4,h5,h6');
  return legend ? shortText(legend, 300) : textBefore(group);
}

/** Without a group, the question is the text before the first choice in what holds all of them. */
function questionAbove(members) {
  let holder = composedParent(members[0]);
  while (holder && !members.every((member) => composedContains(holder, member))) holder = composedParent(holder);
  if (!holder || holder === bodyOf(document)) return textBefore(members[0]);
  const heading = queryDeep(holder, 'h1,h2,h3,h4,h5,h6,[role=heading],legend,p')[0];
  if (heading && heading.compareDocumentPosition(members[0]) & Node.DOCUMENT_POSITION_FOLLOWING) return shortText(heading, 300);
  for (let node = firstChild(holder); node && !(isElement(node) && composedContains(node, members[0])); node = nextSibling(node)) {
    const text = squeeze(nodeType(node) === TEXT ? nodeValue(node) : isElement(node) ? textOf(node) : '');
    if (text) return cut(text, 300);
  }
  return textBefore(holder);
}

function simpleQuestion(element) {
  const field = fieldOf(element);
  if (['submit', 'button', 'reset', 'image'].includes(field.type)) return null;
  const question = field.label || headingAround(element) || field.name;
  const options = (field.options ?? []).map(({ label, value, selected }) => ({ label, value, checked: selected }));
  const answer = tagOf(element) === 'select' ? selectedText(element) : field.type === 'switch' ? field.checked : field.filled ? '•••••' : field.value;
  return { question, type: field.type, ref: field.ref, options, required: field.required, answer };
}

/** Google Forms and the like head each question's box. */
function headingAround(element) {
  const box = closest(element, '[role=listitem],li,fieldset,section');
  const [heading] = box ? queryDeep(box, '[role=heading],h1,h2,h3,h4,h5,h6,legend') : [];
  return heading ? shortText(heading, 300) : '';
}
