//! What a pool holds.

fn moment(pages: u32, n: u64) -> Moment {
    let mut superblock = [0; 192];
    superblock[..8].copy_from_slice(&n.to_le_bytes());
    Moment { pool: [1; 16], session: [2; 16], pages, superblock }
}

/// What a pool holds: of each page its first byte, 0 where it is zeros.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Model {
    pages: u32,
    round: u64,
    bytes: BTreeMap<u32, u8>,
}

fn page_of(byte: u8, page: u32) -> [u8; SLOT] {
    let mut bytes = [byte; SLOT];
    if byte != 0 {
        bytes[100..104].copy_from_slice(&page.to_le_bytes());
    }
    bytes
}

impl Model {
    /// Changes some pages; their numbers.
    fn change(&mut self, random: &mut Random) -> Vec<u32> {
        self.round += 1;
        self.pages = match random.below(8) {
            0 => 1 + random.below(40) as u32,
            1 => self.pages + 5,
            _ => self.pages.max(1),
        };
        let pages = self.pages;
        self.bytes.retain(|&page, _| page < pages);
        let mut changed: Vec<u32> =
            (0..random.below(10)).map(|_| random.below(pages.into()) as u32).collect();
        changed.sort_unstable();
        changed.dedup();
        for &page in &changed {
            let byte = random.below(6) as u8;
            self.bytes.insert(page, byte);
        }
        changed
    }

    fn write(&self, file: &mut CheckpointFile<Losing>, changed: &[u32]) -> Result<u64, Failure> {
        let page = |&page: &u32| page_of(self.bytes.get(&page).copied().unwrap_or(0), page);
        let bytes: Vec<u8> = changed.iter().flat_map(page).collect();
        file.write(moment(self.pages, self.round), changed, &bytes)
    }

    fn is_in(&self, file: &CheckpointFile<Losing>) -> bool {
        let Some((found, _)) = file.newest() else { return self.round == 0 };
        let is_page = |page| {
            let (mut bytes, byte) = ([9; SLOT], self.bytes.get(&page).copied().unwrap_or(0));
            file.read(page, &mut bytes).is_ok() && bytes == page_of(byte, page)
        };
        found == moment(self.pages, self.round) && (0..self.pages).all(is_page)
    }
}

