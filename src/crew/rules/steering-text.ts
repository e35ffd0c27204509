/** A person's message as its worker reads it between two turns. */
export const steeringText = ({ sent_by, content }: { sent_by: string; content: string }) =>
  `Message from ${sent_by}, a person who oversees this task. Follow it from now on:\n\n${content}`;
