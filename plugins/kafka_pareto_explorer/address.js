// What is looked at, as the address keeps it.

/** Sets what is given, and leaves out what is empty. */
export function change(address, changes) {
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value === null || value === undefined) address.delete(name);
    else address.set(name, value);
  }
}

/** The campaign to show, the address's or else the first one; `listed` unless the address has one that is not there. */
export function campaignOf(address, campaigns) {
  const names = campaigns.map((entry) => `${entry.study}/${entry.campaign}`);
  const asked = `${address.get("study")}/${address.get("campaign")}`;
  const listed = names.includes(asked) || !address.has("campaign");
  return { name: names.includes(asked) || !listed ? asked : names[0], listed };
}
