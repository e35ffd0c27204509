/** What a person of each rank may do. */
export const ranksMay = {
  reader: "You can read everything. Collaborators can also write, discuss and decide.",
  collaborator: "You can read, write, discuss and decide. Admins also manage people and tokens.",
  admin: "You can do everything.",
};
