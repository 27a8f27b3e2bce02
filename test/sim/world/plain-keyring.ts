import { fixtures } from '@waybill/state';

/** Items of a variable. */
export type Items = Readonly<Record<string, string>>;

/** The root key that its items name. A restore may take it away, so that each write makes sure of it. */
export const PLAIN_ROOT_KEY = {
  type: 'RootKeyUpsert',
  payload: { Key: fixtures.aRootKey({ KeyID: 'plain' }), Rekey: false, MustExist: false },
} as const;

/** In place of the keyring: encryption draws its nonces from the real world. What is sealed can be read. */
export const PLAIN_KEYRING = {
  sealItems: async (_: object, items: Items): Promise<{ KeyID: string; Data: string }> => ({
    KeyID: 'plain',
    Data: JSON.stringify(items),
  }),
  openItems: async (_: object, { Data }: { readonly Data: string }): Promise<Items> => itemsIn(Data),
};

export const itemsIn = (data: string): Items => JSON.parse(data) as Items;
